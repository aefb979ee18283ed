"""Role tables: conditions in order, children with their parent's context, loops and ends."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from plait import (
    END,
    FALLBACK,
    AdapterBinding,
    DefinitionError,
    Role,
    Transition,
    WorkflowDefinition,
    create_workflow,
    llm_adapter,
    react_adapter,
)
from plait.testing import ScriptedModel, call, fail

from ..support import failure, scripted


class Draft(BaseModel):
    text: str


class Verdict(BaseModel):
    verdict: Literal["good", "bad", "odd"]


def says(word: str) -> Any:
    """A condition on the last role's verdict."""
    return lambda context: context.snapshot.output.verdict == word


REVIEW = WorkflowDefinition(
    start="write",
    roles={"write": Role("Write.", Draft), "judge": Role("Judge.", Verdict), "polish": Role("Polish.")},
    transitions={
        "write": [(FALLBACK, "judge")],
        "judge": [Transition(says("good"), "polish"), (says("bad"), "write"), (FALLBACK, END)],
    },
)

WRITE, GOOD, BAD, ODD = (
    call("resolve", text="a draft"),
    call("resolve", verdict="good"),
    call("resolve", verdict="bad"),
    call("resolve", verdict="odd"),
)


def made(definition: WorkflowDefinition, script: Any, **options: Any) -> Any:
    model = script if isinstance(script, ScriptedModel) else scripted(script)
    return create_workflow(definition, react_adapter(model=model), **options), model


def paths(result: Any) -> list[str]:
    return [record.path for record in result.steps if record.kind == "unit"]


async def test_the_first_condition_that_holds_names_the_next_role():
    workflow, _ = made(REVIEW, [WRITE, GOOD, call("resolve", value="fine")])
    result = await workflow.run("A poem.")
    assert result.output == "fine"
    assert paths(result) == ["write[1]", "judge[1]", "polish[1]"]


async def test_of_two_conditions_that_hold_the_first_wins():
    definition = WorkflowDefinition(
        "a",
        {"a": Role("A"), "b": Role("B"), "c": Role("C")},
        {"a": [(lambda _: False, "a"), (lambda _: True, "b"), (lambda _: True, "c")]},
    )
    workflow, _ = made(definition, [call("resolve", value="1"), call("resolve", value="2")])
    assert paths(await workflow.run("Go.")) == ["a[1]", "b[1]"]


async def test_a_role_may_come_again():
    workflow, model = made(
        REVIEW, {"write": [WRITE, WRITE], "judge": [BAD, GOOD], "polish": [call("resolve", value="fine")]}
    )
    result = await workflow.run("A poem.")
    assert paths(result) == ["write[1]", "judge[1]", "write[2]", "judge[2]", "polish[1]"]
    assert "Output of judge[1]" in model.requests[2].user


async def test_end_ends_with_what_the_last_role_gave():
    workflow, _ = made(REVIEW, [WRITE, ODD])
    result = await workflow.run("A poem.")
    assert result.outcome == "done"
    assert result.output == Verdict(verdict="odd")


async def test_a_role_without_transitions_ends_the_workflow():
    workflow, _ = made(WorkflowDefinition("only", {"only": Role("Say.")}), [call("resolve", value="hi")])
    assert (await workflow.run("Go.")).output == "hi"


async def test_no_condition_that_holds_is_a_typed_failure():
    definition = WorkflowDefinition("a", {"a": Role("A")}, {"a": [(lambda _: False, END)]})
    workflow, _ = made(definition, [call("resolve", value="1")])
    error = await failure(workflow)
    assert error.reason == "unknown-route"
    assert "FALLBACK" in str(error)


async def test_a_loop_without_end_stops_at_max_steps():
    definition = WorkflowDefinition("a", {"a": Role("A")}, {"a": [(FALLBACK, "a")]}, max_steps=3)
    workflow, model = made(definition, ScriptedModel(lambda _: call("resolve", value="again")))
    error = await failure(workflow)
    assert error.reason == "limit"
    assert "max_steps=3" in str(error)
    assert len(model.requests) == 3


async def test_a_condition_that_raises_names_itself_and_its_role():
    def is_good(context):
        raise KeyError("score")

    definition = WorkflowDefinition("a", {"a": Role("A")}, {"a": [(is_good, END)]})
    workflow, _ = made(definition, [call("resolve", value="1")])
    error = await failure(workflow)
    assert error.path == "a"
    assert "is_good raised KeyError" in str(error)


async def test_a_condition_gets_the_thread_context():
    seen = []

    def noted(context):
        seen.append((context.thread_id, context.start, context.depth, [step.path for step in context.steps]))
        return True

    definition = WorkflowDefinition("a", {"a": Role("A")}, {"a": [(noted, END)]})
    workflow, _ = made(definition, [call("resolve", value="1")])
    await workflow.run("Go.", thread_id="t")
    assert set(map(str, seen)) == {str(("t", "Go.", 0, ["a[1]"]))}


def nested(depth: int) -> WorkflowDefinition:
    """A table whose child's child … stands `depth` levels down."""
    definition = WorkflowDefinition("leaf", {"leaf": Role("Leaf.")})
    for level in reversed(range(depth)):
        definition = WorkflowDefinition(f"child{level}", {f"child{level}": definition})
    return definition


async def test_children_may_stand_three_deep():
    workflow, _ = made(nested(3), [call("resolve", value="deep")])
    result = await workflow.run("Go.")
    assert result.output == "deep"
    assert paths(result) == ["child0[1]/child1[1]/child2[1]/leaf[1]"]


def test_children_four_deep_are_refused():
    with pytest.raises(DefinitionError, match="nested deeper than 3"):
        made(nested(4), ScriptedModel([]))


async def test_a_child_knows_how_deep_it_is():
    depths = []

    def adapter(prompt, schema):
        async def role(context):
            depths.append(context.depth)
            return prompt

        return role

    await create_workflow(nested(2), adapter).run("Go.")
    assert depths == [2]


PARENT = WorkflowDefinition(
    "plan",
    {
        "plan": Role("Plan."),
        "collect": Role("Collect."),
        "report": WorkflowDefinition(
            "draft", {"draft": Role("Draft."), "check": Role("Check.")}, {"draft": [(FALLBACK, "check")]}
        ),
        "file": Role("File."),
    },
    {"plan": [(FALLBACK, "collect")], "collect": [(FALLBACK, "report")], "report": [(FALLBACK, "file")]},
)


async def test_a_child_sees_what_the_parent_s_earlier_steps_gave():
    words = ["the plan", "the facts", "the draft", "the check", "filed"]
    workflow, model = made(PARENT, [call("resolve", value=word) for word in words])
    result = await workflow.run("A report.")
    assert result.output == "filed"
    draft, check, file = (request.user for request in model.requests[2:])
    assert "the plan" in draft
    assert "the facts" in draft
    assert "the plan" in check
    assert "the draft" in check
    assert "A report." in check
    assert "the check" in file
    assert "the plan" not in file


async def test_a_failed_role_is_taken_up_again():
    script = {
        "write": [WRITE],
        "judge": [fail(ValueError("down")), GOOD],
        "polish": [call("resolve", value="fine")],
    }
    workflow, model = made(REVIEW, script)
    error = await failure(workflow, thread_id="t")
    assert error.path == "judge[1]"
    result = await workflow.resume("t")
    assert result.output == "fine"
    assert [request.unit for request in model.requests] == ["write", "judge", "judge", "polish"]


async def test_a_failed_role_of_a_child_is_taken_up_again():
    script = {
        "plan": [call("resolve", value="p")],
        "collect": [call("resolve", value="c")],
        "draft": [call("resolve", value="d")],
        "check": [fail(ValueError("down")), call("resolve", value="ok")],
        "file": [call("resolve", value="filed")],
    }
    workflow, _ = made(PARENT, script)
    error = await failure(workflow, thread_id="t")
    assert error.path == "report[1]/check[1]"
    assert (await workflow.resume("t")).output == "filed"


async def test_each_role_may_have_an_adapter_of_its_own():
    main, other = scripted([WRITE, GOOD]), scripted([call("resolve", value="fine")])
    binding = AdapterBinding(react_adapter(model=main), {"polish": llm_adapter(model=other)})
    assert (await create_workflow(REVIEW, binding).run("A poem.")).output == "fine"


def test_every_fault_of_a_table_is_told_at_once():
    definition = WorkflowDefinition(
        "nobody",
        {"a": Role("A"), "END": Role("E")},
        {"a": [(FALLBACK, "b"), ("b is good", "a"), (lambda _: True, END)], "c": []},
        max_steps=0,
    )
    with pytest.raises(DefinitionError) as raised:
        made(definition, ScriptedModel([]))
    told = str(raised.value)
    faults = [
        "'nobody' is no role",
        "'b' is no role",
        "'c', which is no role",
        "FALLBACK must be the last",
        "'b is good' is text",
        "max_steps must be at least 1",
        "cannot be called 'END'",
    ]
    assert [fault for fault in faults if fault not in told] == []


def test_the_table_is_drawn_with_its_children():
    workflow, _ = made(PARENT, ScriptedModel([]))
    assert "report:draft:think" in workflow.graph.get_graph(xray=True).nodes

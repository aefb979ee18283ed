"""What every adapter keeps: one suite for all of them."""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypedDict

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.runnables import RunnableLambda
from langgraph.runtime import get_runtime
from pydantic import BaseModel

from plait import (
    AdapterFn,
    DefinitionError,
    Limits,
    LoopFlow,
    RoleFn,
    RouterFlow,
    RunError,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    agent_adapter,
    langchain_adapter,
    llm_adapter,
    react_adapter,
    step,
    text_react_adapter,
)
from plait.adapters.llm import best_method
from plait.testing import ScriptedModel, fail, reply, text

from ..support import failure, scripted
from .kinds import KINDS, Kind, by_hand


class Line(BaseModel):
    item: str
    amount: Decimal


class Order(BaseModel):
    lines: list[Line]
    note: str | None = None


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class Tags(TypedDict):
    tags: list[str]


BILL = {"lines": [{"item": "午饭", "amount": "32.50"}], "note": "with {braces}"}
OUTPUTS: list[tuple[Any, Any, Any]] = [
    (Order, BILL, Order(lines=[Line(item="午饭", amount=Decimal("32.50"))], note="with {braces}")),
    (Line, {"item": "pen", "amount": "0.10"}, Line(item="pen", amount=Decimal("0.10"))),
    (str, "Hello, 你好 {you}!", "Hello, 你好 {you}!"),
    (Literal["billing", "tech"], "tech", "tech"),
    (Decimal, "12345678901234567890.12", Decimal("12345678901234567890.12")),
    (Point, {"x": 1, "y": 2}, Point(1, 2)),
    (Tags, {"tags": ["a", "b"]}, {"tags": ["a", "b"]}),
    (list[int], [1, 2], [1, 2]),
    (bool, True, True),
]
names = [str(getattr(output, "__name__", output)) for output, _, _ in OUTPUTS]

every_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
every_output = pytest.mark.parametrize(("output", "args", "value"), OUTPUTS, ids=names)


def bound(kind: Kind, output: Any, args: Any, **options: Any) -> tuple[Workflow, ScriptedModel]:
    """One unit on the adapter, and the model that answers for it."""
    model = scripted(kind.replies(output, args))
    unit = WorkflowUnit("work", output=output, **options)
    return Workflow(unit, adapter=kind.make(model)), model


def sent(model: ScriptedModel) -> str:
    """All that the first request says."""
    return "\n".join(str(message.text) for message in model.requests[0].messages)


@every_kind
@every_output
async def test_the_output_is_of_the_unit_s_type(kind, output, args, value):
    workflow, _ = bound(kind, output, args)
    result = await workflow.run("Go.")
    assert result.output == value
    assert type(result.output) is type(value)


@every_kind
@every_output
async def test_a_role_can_be_called_by_hand(kind, output, args, value):
    model = scripted(kind.replies(output, args))
    adapter = kind.make(model)
    assert isinstance(adapter, AdapterFn)
    role = adapter("You are by hand.", output)
    assert isinstance(role, RoleFn)
    assert await role(by_hand("A task.")) == value
    assert "You are by hand." in sent(model)
    assert "A task." in sent(model)


@every_kind
async def test_an_invalid_output_is_a_typed_failure(kind):
    model = ScriptedModel(lambda _: kind.replies(Point, {"x": "one", "y": 2})[-1])
    error = await failure(Workflow(WorkflowUnit("work", output=Point), adapter=kind.make(model)))
    assert error.reason == "invalid-resolve"
    assert error.path == "work"
    assert "x" in str(error)


@every_kind
async def test_an_invalid_output_raises_from_a_role_by_hand(kind):
    model = ScriptedModel(lambda _: kind.replies(Point, {"x": "one", "y": 2})[-1])
    with pytest.raises(RunError) as raised:
        await kind.make(model)("Count.", Point)(by_hand())
    assert raised.value.reason == "invalid-resolve"


PROMPT = "Say {name}, 100% \\n <b>'\"`\n  keep  spaces, 你好 {{x}} ${y}"
TASK = "Task {0} %s {{y}}\n\ttab 午饭 32"


@every_kind
async def test_prompt_and_task_reach_the_model_character_for_character(kind):
    workflow, model = bound(kind, Point, {"x": 1, "y": 2}, prompt=PROMPT)
    await workflow.run(TASK)
    assert PROMPT in sent(model)
    assert TASK in sent(model)


@every_kind
async def test_the_prompt_may_be_a_function_of_the_snapshot_and_the_user_s_context(kind):
    workflow, model = bound(kind, str, "ok", prompt=lambda snapshot: f"You serve {snapshot.context['user']}.")
    await workflow.run("Go.", context={"user": "mei"})
    assert "You serve mei." in sent(model)


@every_kind
async def test_what_predecessors_gave_is_seen(kind):
    model = scripted(kind.replies(str, "ok"))
    first = step(lambda snapshot: Point(3, 4), id="first")
    flow = SequentialFlow(first, WorkflowUnit("work"))
    await Workflow(flow, adapter=kind.make(model)).run("Go.")
    assert 'Output of first:\n{"x":3,"y":4}' in sent(model)


@every_kind
async def test_a_conversation_is_seen_when_the_unit_asks_for_it(kind):
    model = ScriptedModel(lambda _: kind.replies(str, "pong")[0])
    unit = WorkflowUnit("work", conversation=True, memory="none")
    workflow = Workflow(unit, adapter=kind.make(model))
    await workflow.run("ping one", thread_id="t")
    await workflow.run("ping two", thread_id="t")
    last = model.requests[-1]
    said = "\n".join(str(message.text) for message in last.messages)
    assert said.count("ping one") == said.count("ping two") == 1
    assert "pong" in said


@pytest.mark.parametrize("kind", [k for k in KINDS if k.node], ids=[k.name for k in KINDS if k.node])
async def test_a_second_pass_of_what_has_a_graph_remembers_the_first(kind):
    passes = [*kind.replies(str, "one"), *kind.replies(str, "two")]
    model = scripted(passes)
    flow = LoopFlow(WorkflowUnit("work"), max_iterations=2, until=lambda s: s.output == "two")
    result = await Workflow(flow, adapter=kind.make(model)).run("The task.")
    assert result.output == "two"
    said = "\n".join(str(m.text) + str(getattr(m, "tool_calls", "")) for m in model.requests[-1].messages)
    assert said.count("The task.") == 1
    assert "one" in said


@every_kind
async def test_usage_is_counted(kind):
    replies = kind.replies(Point, {"x": 1, "y": 2})
    workflow = Workflow(WorkflowUnit("work", output=Point), adapter=kind.make(model := scripted(replies)))
    result = await workflow.run("Go.")
    assert result.usage.model_calls == len(model.requests) == kind.calls
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens > 0
    assert not result.usage.estimated
    assert result.steps[0].usage == result.usage


@every_kind
async def test_usage_that_nobody_reports_is_estimated_and_marked(kind):
    model = scripted([reply(said, usage=None) for said in kind.replies(str, "ok")])
    result = await Workflow(WorkflowUnit("work"), adapter=kind.make(model)).run("Go.")
    assert result.usage.estimated
    assert result.usage.tokens > 0


@every_kind
async def test_a_limit_of_model_calls_stops_it(kind):
    model = scripted([])
    unit = WorkflowUnit("work", output=Point, limits=Limits(model_calls=0))
    error = await failure(Workflow(unit, adapter=kind.make(model)))
    assert error.reason == "limit"
    assert "model_calls=0" in str(error)


@every_kind
async def test_a_limit_of_the_run_counts_every_unit(kind):
    model = scripted(kind.replies(str, "ok"))
    flow = SequentialFlow(WorkflowUnit("one"), WorkflowUnit("two"))
    error = await failure(Workflow(flow, adapter=kind.make(model), limits=Limits(model_calls=1)))
    assert error.reason == "limit"
    assert error.path == "two"
    assert error.result.usage.model_calls == 1


@every_kind
async def test_a_limit_of_seconds_stops_a_call_under_way(kind):
    model = ScriptedModel(kind.replies(str, "ok"), delay_s=30.0)
    unit = WorkflowUnit("work", limits=Limits(seconds=0.05))
    error = await failure(Workflow(unit, adapter=kind.make(model)))
    assert error.reason == "limit"
    assert "seconds" in str(error)


class Watching(AsyncCallbackHandler):
    """Notes tags and metadata of every model call."""

    def __init__(self) -> None:
        self.seen: list[tuple[list[str], dict[str, Any]]] = []

    async def on_chat_model_start(self, serialized, messages, *, tags=None, metadata=None, **_) -> None:
        self.seen.append((list(tags or ()), dict(metadata or {})))


@every_kind
async def test_callbacks_tags_and_metadata_pass_through(kind):
    workflow, _ = bound(kind, Point, {"x": 1, "y": 2})
    watching = Watching()
    config = {"callbacks": [watching], "tags": ["mine"], "metadata": {"customer": "42"}}
    await workflow.run("Go.", config=config)
    assert len(watching.seen) == kind.calls
    for tags, metadata in watching.seen:
        assert "mine" in tags
        assert metadata["customer"] == "42"
        assert metadata["plait_unit"] == "work"
        assert metadata["plait_path"] == "work"


@every_kind
async def test_it_is_bound_by_unit_id(kind):
    model, other = scripted(kind.replies(str, "mine")), scripted([text("Final Answer: other")])
    flow = SequentialFlow(WorkflowUnit("other"), WorkflowUnit("work"))
    workflow = Workflow(flow, adapter=text_react_adapter(model=other), overrides={"work": kind.make(model)})
    result = await workflow.run("Go.")
    assert [record.output for record in result.steps] == ["other", "mine"]


@every_kind
async def test_a_unit_may_bring_it_along(kind):
    model = scripted(kind.replies(str, "mine"))
    result = await Workflow(WorkflowUnit("work", adapter=kind.make(model))).run("Go.")
    assert result.output == "mine"


@every_kind
async def test_what_the_model_raises_is_the_unit_s_failure(kind):
    model = ScriptedModel(lambda _: fail(ValueError("the wire is cut")))
    error = await failure(Workflow(WorkflowUnit("work"), adapter=kind.make(model)))
    assert error.reason in ("provider", "error")
    assert error.path == "work"
    assert "the wire is cut" in str(error)
    assert error.result.usage.model_calls == 1


@every_kind
async def test_cancelling_passes_through(kind):
    model = ScriptedModel(kind.replies(str, "ok"), delay_s=30.0)
    run = Workflow(WorkflowUnit("work"), adapter=kind.make(model)).start("Go.")
    async for event in run.events():
        if event.type == "agent_start" and event.path == "work":
            break
    await asyncio.sleep(0.05)
    assert model.requests
    await run.cancel()
    assert (await run.result()).outcome == "cancelled"


@every_kind
async def test_a_router_reads_its_label_through_it(kind):
    model = scripted(kind.replies(Literal["billing"], " Billing") + kind.replies(str, "paid"))
    flow = RouterFlow(
        WorkflowUnit("route"), {"billing": WorkflowUnit("billing"), "tech": WorkflowUnit("tech")}
    )
    result = await Workflow(flow, adapter=kind.make(model)).run("Go.")
    assert [record.path for record in result.steps if record.kind == "unit"] == ["route", "billing"]
    assert result.output == "paid"


@every_kind
def test_drawing_shows_the_graph_where_there_is_one(kind):
    workflow = Workflow(WorkflowUnit("work"), adapter=kind.make(ScriptedModel([])))
    nodes = set(workflow.graph.get_graph(xray=True).nodes)
    assert ("work" if kind.node is None else f"work:{kind.node}") in nodes


async def test_a_plain_function_is_an_adapter():
    seen = []

    def adapter(prompt, schema):
        async def role(context):
            seen.append((prompt, schema, context.start, context.thread_id))
            return {"x": 1, "y": 2}

        return role

    unit = WorkflowUnit("work", prompt="Count.", output=Point)
    result = await Workflow(unit, adapter=adapter).run("Go.", thread_id="t")
    assert result.output == Point(1, 2)
    assert seen == [("Count.", Point, "Go.", "t")]


async def test_a_plain_adapter_gets_the_text_that_a_prompt_function_makes():
    def adapter(prompt, schema):
        async def role(context):
            return prompt

        return role

    unit = WorkflowUnit("work", prompt=lambda snapshot: f"For {snapshot.task}.")
    assert (await Workflow(unit, adapter=adapter).run("mei")).output == "For mei."


async def test_what_a_plain_adapter_gives_is_checked():
    def adapter(prompt, schema):
        async def role(context):
            return {"x": "one"}

        return role

    error = await failure(Workflow(WorkflowUnit("work", output=Point), adapter=adapter))
    assert error.reason == "invalid-resolve"


def test_an_agent_without_a_model_can_only_give_text():
    with pytest.raises(DefinitionError, match="agent_adapter needs model="):
        Workflow(WorkflowUnit("work", output=Point), adapter=agent_adapter(lambda question: "x"))


async def test_an_agent_may_be_an_ordinary_function():
    agent = agent_adapter(lambda question: f"You asked: {question}")
    result = await Workflow(WorkflowUnit("work", prompt="P"), adapter=agent).run("Why?")
    assert result.output == "You asked: P\n\nWhy?"


async def test_what_an_agent_returns_must_be_text():
    error = await failure(Workflow(WorkflowUnit("work"), adapter=agent_adapter(lambda question: 5)))
    assert error.reason == "error"
    assert "the agent returned int" in str(error)


@pytest.mark.parametrize("profile", [None, {"tool_calling": True}, {"structured_output": True}, {}])
def test_the_llm_adapter_asks_as_the_model_can(profile):
    speechless = GenericFakeChatModel(messages=iter(()), profile=profile)
    expected = "parse" if not profile else "tool" if "tool_calling" in profile else "json_schema"
    assert best_method(speechless) == expected
    assert best_method(ScriptedModel([])) == "tool"
    assert best_method(ScriptedModel([]).with_fallbacks([ScriptedModel([])])) == "tool"


@pytest.mark.parametrize("kind", KINDS[1:4], ids=[kind.name for kind in KINDS[1:4]])
async def test_the_llm_adapter_says_what_was_wrong_when_it_may_ask_again(kind):
    wrong, right = kind.replies(Point, {"x": "one", "y": 2}), kind.replies(Point, {"x": 1, "y": 2})
    model = scripted([*wrong, *right])
    method = kind.name.removeprefix("llm-")
    adapter = llm_adapter(model=model, method=method, attempts=2)
    result = await Workflow(WorkflowUnit("work", output=Point), adapter=adapter).run("Go.")
    assert result.output == Point(1, 2)
    told = str(model.requests[1].messages[-1].text)
    assert "x" in told
    assert ("resolve" in told) is (method == "tool")


@pytest.mark.parametrize("through", ["agent", "langchain"])
async def test_an_opaque_function_runs_with_the_user_s_context_and_never_a_frame(through):
    seen = []

    def note(given):
        seen.append(get_runtime().context)
        return "ok"

    adapter = agent_adapter(note) if through == "agent" else langchain_adapter(RunnableLambda(note))
    await Workflow(WorkflowUnit("work"), adapter=adapter).run("Go.", context="mei")
    assert seen == ["mei"]


def test_an_override_for_no_unit_is_refused():
    adapter = react_adapter(model=ScriptedModel([]))
    with pytest.raises(DefinitionError, match="'wrok', which is no unit"):
        Workflow(WorkflowUnit("work"), adapter=adapter, overrides={"wrok": adapter})

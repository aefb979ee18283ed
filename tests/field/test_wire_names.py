"""Field cases: names that providers refuse, and streamed call fragments without an index."""

import re

import pytest
from langchain_core.tools import StructuredTool
from pydantic import BaseModel

from plait import DefinitionError, SequentialFlow, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, text

from ..support import ChunkModel, answers, call_chunk, last_chunk, run, scripted


class Ok(BaseModel):
    ok: bool


NAMES = ["Refund Agent", "规划", "a.b/c", "a?b/c", "n" * 80]
DONE = call("resolve", ok=True)


def named_tool(name, seen):
    def act(x: int) -> str:
        """Act."""
        seen.append((name, x))
        return f"{x} by {name}"

    return StructuredTool.from_function(act, name=name)


async def wire_names():
    """The names on the wire, in the order of NAMES."""
    _, model = await run(WorkflowUnit("work", output=Ok, tools=[named_tool(n, []) for n in NAMES]), [DONE])
    return model.requests[0].tools[: len(NAMES)]


async def test_f53_tool_names_on_the_wire_are_fit_and_all_different():
    sent = await wire_names()
    assert len(set(sent)) == len(NAMES)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in sent)


async def test_f53_each_name_on_the_wire_leads_to_its_tool():
    seen = []
    tools = [named_tool(name, seen) for name in NAMES]
    batch = [call(wire, x=n) for n, wire in enumerate(await wire_names())]
    result, model = await run(WorkflowUnit("work", output=Ok, tools=tools), [batch, DONE])
    assert sorted(seen) == sorted((name, n) for n, name in enumerate(NAMES))
    assert [answer.content for answer in answers(model.requests[1])] == [
        f"{n} by {name}" for n, name in enumerate(NAMES)
    ]
    assert [made.name for made in result.steps[0].tool_calls] == NAMES


async def test_f53_events_carry_the_names_as_given():
    tools = [named_tool(name, []) for name in NAMES]
    model = scripted([[call(wire, x=1) for wire in await wire_names()], DONE])
    workflow = Workflow(WorkflowUnit("work", output=Ok, tools=tools), model=model)
    events = [event async for event in workflow.stream("Go.", types=["tool_execution_start"])]
    assert sorted(event.tool for event in events if event.tool) == sorted(NAMES)


@pytest.mark.parametrize("unit_id", ["Refund Agent", "规划", "n" * 80])
async def test_f53_unit_names_stay_as_given(unit_id):
    result, model = await run(WorkflowUnit(unit_id, output=Ok), [DONE])
    assert result.steps[0].unit == result.steps[0].path == unit_id
    assert model.requests[0].unit == unit_id


@pytest.mark.parametrize("unit_id", ["a.b/c", "a?b/c", "a[1]", "a~2", "", " "])
def test_f53_unit_ids_that_no_path_can_hold_are_refused_by_name(unit_id):
    with pytest.raises(DefinitionError) as raised:
        WorkflowUnit(unit_id, output=Ok)
    assert unit_id in str(raised.value)


async def test_f53_units_with_such_names_run_in_a_flow():
    parts = [WorkflowUnit("Refund Agent", answer="text"), WorkflowUnit("规划", answer="text")]
    model = scripted({"Refund Agent": [text("one")], "规划": [text("two")]})
    result = await Workflow(SequentialFlow(*parts), model=model).run("Go.")
    assert result.completed_units == ("Refund Agent", "规划")


@pytest.fixture
def numbers():
    return []


@pytest.fixture
def unit(numbers):
    def get(a: int) -> str:
        """Get a."""
        numbers.append(a)
        return "got"

    return WorkflowUnit("work", output=Ok, tools=[get])


RESOLVE = [call_chunk(0, "resolve", '{"ok": true}', "r1"), last_chunk()]


async def streamed(unit, replies):
    model = ChunkModel(replies=replies)
    *_, last = [event async for event in Workflow(unit, model=model).stream("Go.")]
    return last.result, model


async def test_f45_a_fragmented_call_without_an_index_never_runs_empty(unit, numbers):
    torn = [call_chunk(None, "get", '{"a":', "c1"), call_chunk(None, None, "1}"), last_chunk()]
    whole = [call_chunk(0, "get", '{"a": 1}', "c2"), last_chunk()]
    result, _ = await streamed(unit, [torn, whole, RESOLVE])
    assert result.outcome == "done"
    assert numbers == [1]


async def test_f45_whole_calls_without_an_index_stay_separate(unit, numbers):
    two = [call_chunk(None, "get", '{"a": 1}', "c1"), call_chunk(None, "get", '{"a": 2}', "c2"), last_chunk()]
    result, _ = await streamed(unit, [two, RESOLVE])
    assert result.outcome == "done"
    assert sorted(numbers) == [1, 2]


async def test_f45_fragments_with_an_index_are_one_call(unit, numbers):
    pieces = [call_chunk(0, "get", '{"a":', "c1"), call_chunk(0, None, "1}"), last_chunk()]
    await streamed(unit, [pieces, RESOLVE])
    assert numbers == [1]


async def test_f45_the_request_after_a_torn_call_keeps_the_rules(unit):
    torn = [call_chunk(None, "get", '{"a":', "c1"), call_chunk(None, None, "1}"), last_chunk()]
    _, model = await streamed(unit, [torn, RESOLVE])
    ScriptedModel([text("ok")]).invoke(model.sent[1])  # the history can be sent to any model
    assert [message.type for message in model.sent[1]][:2] == ["human", "ai"]

"""What a request holds: schemas, names, and replies that were no calls."""

import json
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from plait import Workflow, WorkflowUnit

from .support import WIRE_NAME, Reply, call, calls, offered, ran, resolve, tool_texts, wire_history_faults


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str
    friends: "list[Pet]" = []


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Visit(BaseModel):
    pet: Pet
    level: Level
    note: str | None = None
    score: float = 0.5


def pointers(schema: Any) -> list[str]:
    """Every `$ref` and every mapping target in a schema."""
    if isinstance(schema, list):
        return [found for item in schema for found in pointers(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    mapping = schema.get("discriminator", {})
    own += mapping.get("mapping", {}).values() if isinstance(mapping, dict) else []
    return own + [found for item in schema.values() for found in pointers(item)]


def resolves(pointer: str, schema: Any) -> bool:
    found = schema
    for part in pointer.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, dict) else None
    return pointer.startswith("#/") and isinstance(found, dict)


async def test_a_union_schema_is_whole_on_the_wire_and_its_values_come_back(wire, chat, streamed):
    wire.script(resolve(pet={"kind": "dog", "name": "Rex"}, level="low"))
    result = await ran(
        Workflow(WorkflowUnit("see", output=Visit), model=chat(wire.base_url)), streamed=streamed
    )
    assert result.output == Visit(pet=Dog(kind="dog", name="Rex"), level=Level.LOW, note=None, score=0.5)
    schema = offered(wire.bodies[0])["resolve"]["parameters"]
    assert schema["type"] == "object"
    assert set(schema["properties"]) == {"pet", "level", "note", "score"}
    assert pointers(schema)
    assert [pointer for pointer in pointers(schema) if not resolves(pointer, schema)] == []


async def test_a_kind_outside_the_union_is_answered_with_the_kinds_there_are(wire, chat, streamed):
    wire.script(resolve(pet={"kind": "cow", "name": "Bella"}, level="low"))
    wire.script(resolve("r2", pet={"kind": "cat", "name": "Tom"}, level="high"))
    result = await ran(
        Workflow(WorkflowUnit("see", output=Visit), model=chat(wire.base_url)), streamed=streamed
    )
    assert result.output.pet == Cat(kind="cat", name="Tom")
    told = tool_texts(wire.bodies[1])[0]
    assert all(word in told for word in ("pet", "cat", "dog"))


@pytest.mark.parametrize("output", [str, list[int], Literal["a", "b"], Cat | Dog, dict[str, float]])
async def test_any_output_makes_a_schema_with_an_object_at_its_root(wire, chat, output):
    wire.script(Reply("no"))
    unit = WorkflowUnit("give", output=output, reminders=0)
    await ran(Workflow(unit, model=chat(wire.base_url)))
    schema = offered(wire.bodies[0])["resolve"]["parameters"]
    assert schema["type"] == "object"
    assert [pointer for pointer in pointers(schema) if not resolves(pointer, schema)] == []


NAMES = ["Refund Agent", "规划", "a.b/c", "a?b/c", "n" * 80, "fine_name"]


def tool_named(name: str, ran_tools: list[str]) -> StructuredTool:
    def work() -> str:
        ran_tools.append(name)
        return f"did {name}"

    return StructuredTool.from_function(work, name=name, description=f"Does <{name}>.")


def call_the_tool_for(name: str) -> Any:
    def answer(body: dict[str, Any]) -> Reply:
        found = next(wire for wire, told in offered(body).items() if f"<{name}>" in told["description"])
        return calls(call(found))

    return answer


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_that_providers_refuse_maps_to_its_tool(wire, chat, streamed, name):
    ran_tools: list[str] = []
    unit = WorkflowUnit("规划 1", output=bool, tools=[tool_named(one, ran_tools) for one in NAMES])
    wire.script(call_the_tool_for(name), resolve(value=True))
    result = await ran(Workflow(unit, model=chat(wire.base_url)), streamed=streamed)
    on_wire = [tool["function"]["name"] for tool in wire.bodies[0]["tools"]]
    assert len(set(on_wire)) == len(NAMES) + 1
    assert all(WIRE_NAME.fullmatch(one) for one in on_wire)
    assert (ran_tools, tool_texts(wire.bodies[1])) == ([name], [f"did {name}"])
    assert wire_history_faults(wire.bodies) == []
    assert [step.unit for step in result.steps] == ["规划 1"]


async def test_results_and_events_keep_the_given_names(wire, chat):
    unit = WorkflowUnit("plan", output=bool, tools=[tool_named("规划", [])])
    wire.script(call_the_tool_for("规划"), resolve(value=True))
    seen = [event async for event in Workflow(unit, model=chat(wire.base_url)).stream("go")]
    assert {event.tool for event in seen if event.tool} == {"规划"}
    assert [made.name for made in seen[-1].result.steps[0].tool_calls] == ["规划"]


async def test_an_invented_name_goes_back_in_a_form_that_providers_take(wire, chat, streamed):
    wire.script(calls(call("go to: 北京!")), resolve(value=True))
    result = await ran(
        Workflow(WorkflowUnit("go", output=bool), model=chat(wire.base_url)), streamed=streamed
    )
    assert result.outcome == "done"
    assert "go to: 北京!" in tool_texts(wire.bodies[1])[0]
    assert wire_history_faults(wire.bodies) == []


WRITTEN = json.dumps({"name": "search", "arguments": {"q": "x"}})
WRITTEN_CALLS = [WRITTEN, f"<tool_call>{WRITTEN}</tool_call>", f"```json\n{WRITTEN}\n```"]


def searching(**options: Any) -> tuple[WorkflowUnit[bool], list[str]]:
    runs: list[str] = []

    def search(q: str) -> str:
        """Look something up."""
        runs.append(q)
        return f"found {q}"

    return WorkflowUnit("find", prompt="Find it.", output=bool, tools=[search], **options), runs


@pytest.mark.parametrize("text", [*WRITTEN_CALLS, '{"name":"Ann","arguments":[]}'])
async def test_a_call_written_as_text_draws_a_reminder(wire, chat, streamed, text):
    unit, runs = searching()
    wire.script(Reply(text), resolve(value=True))
    result = await ran(Workflow(unit, model=chat(wire.base_url)), streamed=streamed)
    assert (result.output, runs) == (True, [])
    assert wire.bodies[1]["messages"][-2]["content"] == text
    assert "resolve" in wire.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize("text", WRITTEN_CALLS)
async def test_a_call_written_as_text_runs_once_where_the_unit_says_so(wire, chat, streamed, text):
    unit, runs = searching(lift_text_calls=True)
    wire.script(Reply(text), resolve(value=True))
    result = await ran(Workflow(unit, model=chat(wire.base_url)), streamed=streamed)
    assert (result.output, runs, result.usage.model_calls) == (True, ["x"], 2)
    assert wire_history_faults(wire.bodies) == []


async def test_text_that_only_looks_like_a_call_is_never_lifted(wire, chat, streamed):
    unit, runs = searching(lift_text_calls=True)
    wire.script(Reply('{"name":"Ann","arguments":[]}'), resolve(value=True))
    result = await ran(Workflow(unit, model=chat(wire.base_url)), streamed=streamed)
    assert (result.output, runs) == (True, [])


@pytest.mark.parametrize("blank", [None, "", " \n"])
async def test_a_blank_reply_draws_a_reminder_and_is_not_sent_back(wire, chat, streamed, blank):
    unit, runs = searching()
    wire.script(calls(call("search", q="x")), Reply(blank), resolve("r2", value=True))
    result = await ran(Workflow(unit, model=chat(wire.base_url)), streamed=streamed)
    assert (result.output, runs, len(wire.bodies)) == (True, ["x"], 3)
    assert wire.bodies[2]["messages"][-1]["role"] == "user"
    assert wire_history_faults(wire.bodies) == []


async def test_blank_replies_without_end_fail(wire, chat, streamed):
    unit, _ = searching(reminders=2)
    wire.script(*[Reply(None)] * 3)
    result = await ran(Workflow(unit, model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, result.reason) == ("failed", "empty-reply")
    assert wire_history_faults(wire.bodies) == []

"""A server that takes no forced tool choice."""

from pydantic import BaseModel

from plait import Workflow, WorkflowUnit

from .support import call, calls, ran, resolve, wire_history_faults

REFUSED = "Thinking mode does not support this tool_choice"


class Answer(BaseModel):
    ok: bool


def search(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def unit(**options):
    return WorkflowUnit("find", prompt="Find it.", output=Answer, tools=[search], **options)


def refuses_force(body):
    return REFUSED if body.get("tool_choice") not in (None, "auto") else None


def forced(body):
    return body.get("tool_choice") not in (None, "auto")


async def test_default_settings_force_nothing(wire, chat, streamed):
    wire.refuses = refuses_force
    wire.script(calls(call("search", q="x")), resolve(ok=True))
    result = await ran(Workflow(unit(), model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, len(wire.bodies)) == ("done", 2)


async def test_a_forced_last_round_falls_back_once(wire, chat, streamed):
    wire.refuses = refuses_force
    wire.script(calls(call("search", q="x")), resolve(ok=True))
    workflow = Workflow(unit(max_rounds=2, force_last_round=True), model=chat(wire.base_url))
    result = await ran(workflow, streamed=streamed)
    assert (result.outcome, result.output) == ("done", Answer(ok=True))
    assert [forced(body) for body in wire.bodies] == [False, True, False]
    assert wire_history_faults(wire.bodies) == []


async def test_a_forced_last_round_asks_for_resolve_where_it_is_taken(wire, chat, streamed):
    wire.script(calls(call("search", q="x")), resolve(ok=True))
    workflow = Workflow(unit(max_rounds=2, force_last_round=True), model=chat(wire.base_url))
    result = await ran(workflow, streamed=streamed)
    assert result.outcome == "done"
    assert wire.bodies[1]["tool_choice"] == {"type": "function", "function": {"name": "resolve"}}


async def test_a_choice_the_user_asked_for_fails_by_its_name(wire, chat, streamed):
    wire.refuses = refuses_force
    result = await ran(Workflow(unit(tool_choice="required"), model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, result.reason, len(wire.bodies)) == ("failed", "provider", 1)
    assert "tool_choice" in result.message
    assert "'required'" in result.message

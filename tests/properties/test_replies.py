"""Whatever a model replies, a run ends in a typed outcome, its requests keep the rules, its state lasts."""

from __future__ import annotations

import asyncio
import os
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from plait import RunError, RunResult, ToolRuntime, Workflow, WorkflowUnit
from plait.core.outcome import Reason
from plait.testing import Request, ScriptedModel, call, fail, reply, text

from ..support import check_requests
from .strategies import Said, deep, replies, values

SOAK = bool(os.environ.get("PLAIT_SOAK"))
EXAMPLES = 5_000 if SOAK else 60
TIMEOUT_S = 20


class Found(BaseModel):
    label: str
    count: int = Field(ge=0)
    ratio: float = 0.0
    rest: list[Any] = []


def echo(value: Any) -> Any:
    """Give back what was given."""
    return value


def keep(value: Any, runtime: ToolRuntime, key: str = "kept") -> str:
    """Keep a value in the shared state."""
    runtime.shared.set(key, value)
    return "kept"


def fails(value: Any = None) -> str:
    """Never works."""
    raise ValueError(value)


def odd() -> Any:
    """Gives back what no message can hold."""
    return {"surrogate": "\ud800", "number": 2**80, "nan": float("nan"), "deep": deep(40)}


TOOLS = [echo, keep, fails, odd]
UNITS = {
    "typed": WorkflowUnit("u", output=Found, tools=TOOLS, max_rounds=6),
    "text": WorkflowUnit("u", output=str, answer="text", tools=TOOLS, max_rounds=6),
    "free": WorkflowUnit(
        "u", output=dict[str, Any], tools=TOOLS, max_rounds=6, accept_json_text=True, lift_text_calls=True
    ),
    "sequential": WorkflowUnit(
        "u", output=Found, tools=TOOLS, max_rounds=6, tool_execution="sequential", output_cap=200
    ),
}
# Shrinking a script of huge values takes minutes, so only a soak does it.
PHASES = tuple(phase for phase in Phase if SOAK or phase not in (Phase.shrink, Phase.explain))
soaking = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), phases=PHASES)


def said(*given_replies: Any) -> list[Said]:
    return [Said(each) for each in given_replies]


def over_and_over(script: list[Said]) -> Any:
    """The replies in order, again from the first when they are used up."""
    asked = iter(range(1_000))

    def answer(_: Request) -> Any:
        return script[next(asked) % len(script)].reply

    return answer


async def ended(flow: Any, script: list[Said]) -> tuple[RunResult, ScriptedModel, InMemorySaver]:
    model, saver = ScriptedModel(over_and_over(script)), InMemorySaver()
    workflow = Workflow(flow, model=model, checkpointer=saver)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            result = await workflow.run("go", thread_id="t")
    except RunError as error:
        result = error.result
    return result, model, saver


def told(result: RunResult) -> list[str]:
    """What a result says, as text: a number that is no number equals nothing, its text does."""
    return [
        repr(part)
        for part in (
            result.outcome,
            result.reason,
            result.stored,
            result.state,
            result.messages,
            result.bus,
            result.steps,
            result.usage,
        )
    ]


@pytest.mark.parametrize("kind", UNITS)
@soaking
@given(script=st.lists(replies(), min_size=1, max_size=5))
@example(script=said(call("resolve", label="\ud800", count=2**70)))
@example(script=said(call("echo", value=deep(500)), call("resolve", label="a", count=deep(500))))
@example(script=said(call("keep", value=float("nan")), call("resolve", label="a", count=1)))
@example(script=said([call("echo", value=1).with_id("same"), call("echo", value=2).with_id("same")]))
@example(script=said(reply("x" * 200_000, call("echo", value="y" * 200_000))))
@example(script=said(fail(ValueError("once")), text("\ud800"), text("")))
def test_any_replies_end_in_a_typed_outcome_that_survives(kind: str, script: list[Said]) -> None:
    async def checked() -> None:
        result, model, saver = await ended(UNITS[kind], script)
        assert result.outcome in ("done", "failed")
        assert result.outcome == "done" or result.reason in get_args(Reason)
        check_requests(model.requests)
        again = await Workflow(UNITS[kind], model=model, checkpointer=saver).thread("t").result()
        assert told(again) == told(result)

    asyncio.run(checked())


@settings(soaking, max_examples=EXAMPLES // 2)
@given(script=st.lists(replies(), min_size=1, max_size=4))
def test_streaming_the_same_replies_ends_in_a_last_event(script: list[Said]) -> None:
    async def checked() -> None:
        model = ScriptedModel(over_and_over(script), chunk_size=5_000)
        async with asyncio.timeout(TIMEOUT_S):
            events = [event async for event in Workflow(UNITS["typed"], model=model).stream("go")]
        assert (events[-1].type, events[-1].path) == ("agent_end", "")
        assert events[-1].result.outcome in ("done", "failed")
        check_requests(model.requests)

    asyncio.run(checked())


@settings(soaking, max_examples=EXAMPLES // 2)
@given(given_values=st.lists(values, min_size=1, max_size=3))
def test_values_that_a_tool_keeps_come_back_equal_or_are_refused(given_values: list[Any]) -> None:
    async def checked() -> None:
        kept: dict[str, Any] = {}

        def remember(number: int, runtime: ToolRuntime) -> str:
            """Keep one of the values."""
            runtime.shared.set(f"v{number}", given_values[number])
            kept[f"v{number}"] = given_values[number]
            return "kept"

        unit = WorkflowUnit("u", tools=[remember])
        script = [
            *(call("remember", number=n) for n in range(len(given_values))),
            call("resolve", value="ok"),
        ]
        saver = InMemorySaver()
        result = await Workflow(unit, model=ScriptedModel(script), checkpointer=saver).run(
            "go", thread_id="t"
        )
        assert repr(result.state) == repr(kept)
        assert repr(
            await Workflow(unit, model=ScriptedModel([]), checkpointer=saver).thread("t").state()
        ) == repr(kept)

    asyncio.run(checked())

"""act: run the ordinary calls of the last reply, then settle all of its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.runtime import Runtime

from ..core.codec import encode
from ..core.delta import Delta, compose, merge
from ..core.errors import StateConflict
from ..core.outcome import Reason
from ..core.plain import delta_from, update_from
from ..core.state import StateWrite
from ..core.usage import Breach
from .answers import parse_json_text
from .callrecords import keep_full_text
from .calls import Call
from .clashes import without_clashes
from .decide import Step, after_calls, done, failure, judge
from .ending import checked
from .frame import Frame
from .history import message_text
from .invoke import Caller, CallResult, output_of, refused
from .tasks import call_task
from .think import rules_of, update
from .tools import RESOLVE, UnitTool
from .unitstate import Counters, UnitState

if TYPE_CHECKING:
    from .react import ReactRole


async def act(role: ReactRole, state: UnitState, runtime: Runtime[Frame]) -> dict[str, Any]:
    """Run the calls and answer every one of them. Returns the update of the unit's state."""
    frame = runtime.context
    path, unit = frame.snapshot.path, role.unit.id
    frame.run.turn_starts(path, unit)
    try:
        written = await _acted(role, state, frame, runtime)
    except GraphInterrupt:
        frame.run.turn_ends(path, unit)
        raise
    except BaseException as error:
        frame.run.turn_ends(path, unit, error=type(error).__name__)
        raise
    frame.run.turn_ends(path, unit)
    return written


async def _acted(role: ReactRole, state: UnitState, frame: Frame, runtime: Runtime[Frame]) -> dict[str, Any]:
    counters = Counters.from_plain(state.get("progress"))
    frame.meter.report(frame.meter_key, counters.usage)
    message = state["messages"][-1]
    assert isinstance(message, AIMessage)
    calls = [
        Call(c["id"] or "", c["name"], c["args"], counters.faults.get(c["id"] or ""))
        for c in message.tool_calls
    ]
    tools = role.tools(frame.snapshot).by_wire
    wanted = [call for call in calls if call.error is None and call.name in tools]
    allowed, breach = _within_limits(wanted, frame)
    counters = counters.but(
        usage=replace(counters.usage, tool_calls=counters.usage.tool_calls + len(allowed))
    )
    frame.meter.report(frame.meter_key, counters.usage)
    caller = _Calls(role, state, frame, runtime)
    results = dict(zip((c.id for c in allowed), await caller.run(allowed, tools), strict=True))
    results |= {call.id: refused(call, str(breach)) for call in wanted[len(allowed) :]}
    return _settled(role, state, frame, counters, calls, results, message_text(message), breach)


def _within_limits(wanted: list[Call], frame: Frame) -> tuple[list[Call], Breach | None]:
    """The calls that may run, in order, and the limit that refuses the rest."""
    left = frame.meter.tool_calls_left()
    timed_out = frame.meter.seconds_left() == 0
    allowed = [] if timed_out else wanted if left is None else wanted[:left]
    if len(allowed) == len(wanted):
        return allowed, None
    return allowed, frame.meter.seconds_breach() if timed_out else frame.meter.tool_breach()


def _settled(
    role: ReactRole,
    state: UnitState,
    frame: Frame,
    counters: Counters,
    calls: Sequence[Call],
    results: Mapping[str, CallResult],
    text: str,
    breach: Breach | None,
) -> dict[str, Any]:
    writes = [write.to_plain() for result in results.values() for write in result.writes]
    merged: UnitState = {**state, "writes": [*state.get("writes", []), *writes]}
    rules = rules_of(role, frame, counters, merged, text)
    answers = {key: keep_full_text(result.message, result.output) for key, result in results.items()}
    step = after_calls(rules, counters, calls, answers, text)
    said = tuple(message for result in results.values() for message in result.extra)
    step = replace(step, messages=(*step.messages, *said))
    step = _returned(role, rules, step, results)
    lost = next((result.failure for result in results.values() if result.failure), None)
    lost = lost or _conflict(results.values(), frame)
    lost = lost or (("limit", str(breach)) if breach is not None and step.ending is None else None)
    if lost is not None:
        step = replace(step, counters=step.counters.but(next="end"), ending=failure(*lost, text))
    written = update(checked(role.unit, step, frame, merged, text), state, frame)
    published = [encode(m.to_plain(), "bus") for result in results.values() for m in result.bus]
    inner = [update_from(_kept(result.inner, lost)) for result in results.values() if result.inner.steps]
    more = {"writes": writes, "bus": published, "inner": inner}
    return written | {channel: value for channel, value in more.items() if value}


def _conflict(results: Iterable[CallResult], frame: Frame) -> tuple[Reason, str] | None:
    """The failure when flows that ran side by side in the calls of one reply wrote one state key."""
    try:
        merge([result.inner for result in results], frame.snapshot.schema)
    except StateConflict as error:
        return "state-conflict", str(error)
    return None


def _kept(inner: Delta, lost: tuple[Reason, str] | None) -> Delta:
    return replace(inner, writes=()) if lost is not None and lost[0] == "state-conflict" else inner


def _returned(role: ReactRole, rules: Any, step: Step, results: Mapping[str, CallResult]) -> Step:
    """End with the result of a `return_direct` tool, when it is a valid output of the unit."""
    direct = next((r for r in results.values() if r.returns and r.message.status != "error"), None)
    if direct is None or step.ending is not None:
        return step
    text = output_of(direct)
    ended = step.counters.but(next="end")
    if role.unit.output is str:
        return replace(step, counters=ended, ending=done(text, text))
    for candidate in parse_json_text(text):
        args = (
            candidate
            if isinstance(candidate, dict) and not role.schema.wrapped
            else {role.schema.wrap_key: candidate}
        )
        verdict = judge(rules, Call("direct", RESOLVE, args, None))
        if verdict.problem is None:
            return replace(step, counters=ended, ending=done(verdict.plain, text))
    return step


class _Calls:
    """Runs the calls of one reply: alone in place, several as tasks that a crash does not repeat."""

    def __init__(self, role: ReactRole, state: UnitState, frame: Frame, runtime: Runtime[Frame]) -> None:
        self._role = role
        types = frame.snapshot.schema.types
        self._types = types
        inner = reduce(compose, (delta_from(done, types) for done in state.get("inner", ())), Delta())
        self._frame = frame.at(frame.snapshot.apply(inner))
        self._runtime = runtime
        self._messages: Sequence[BaseMessage] = state["messages"]
        self._writes = [StateWrite(**write) for write in state.get("writes", [])]

    async def run(self, calls: Sequence[Call], tools: Mapping[str, UnitTool]) -> list[CallResult]:
        if len(calls) <= 1:
            return [await self._one(call, tools[call.name]) for call in calls]
        if self._role.unit.tool_execution == "sequential":
            return await self._in_order(calls, tools)
        started = [self._task(n, call, tools) for n, call in enumerate(calls)]
        finished = await asyncio.gather(*started, return_exceptions=True)
        raised = [result for result in finished if isinstance(result, BaseException)]
        if raised:
            # every task has recorded its own interrupt, so an empty one is raised for all
            pauses = all(isinstance(error, GraphInterrupt) for error in raised)
            raise (
                GraphInterrupt(()) if pauses else next(e for e in raised if not isinstance(e, GraphInterrupt))
            )
        plain = (result for result in finished if not isinstance(result, BaseException))
        results = [CallResult.from_plain(result, self._types) for result in plain]
        return without_clashes(results, self._frame.snapshot.schema)

    async def _in_order(self, calls: Sequence[Call], tools: Mapping[str, UnitTool]) -> list[CallResult]:
        """One call after the other; each sees what those before it wrote."""
        results: list[CallResult] = []
        for number, call in enumerate(calls):
            results.append(CallResult.from_plain(await self._task(number, call, tools), self._types))
            self._writes = [*self._writes, *results[-1].writes]
        return results

    def _task(self, number: int, call: Call, tools: Mapping[str, UnitTool]) -> Any:
        async def run_call(_: int) -> dict[str, Any]:
            return (await self._one(call, tools[call.name])).to_plain()

        return call_task(f"{call.name}#{number}", run_call, number)

    async def _one(self, call: Call, tool: UnitTool) -> CallResult:
        caller = Caller(
            self._frame,
            self._runtime,
            get_config(),
            self._messages,
            self._writes,
            self._role.unit.id,
            self._role.unit.output_cap,
        )
        return await caller.run(call, tool)

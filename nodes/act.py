"""act: run the ordinary calls of the last reply, then settle all of its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.runtime import Runtime

from ..core.codec import encode
from ..core.delta import Delta, compose_all, merge
from ..core.errors import StateConflict
from ..core.outcome import Reason
from ..core.plain import delta_from, update_from
from ..core.state import StateWrite
from ..core.usage import Breach
from .answers import parse_json_text
from .callrecords import noted
from .calls import Call
from .clashes import without_clashes
from .decide import Step, after_calls, done, failure, judge
from .frame import Frame
from .history import message_text
from .invoke import Caller, CallResult, output_of, refused
from .journal import CallJournal
from .lingering import Place
from .steering import Mailbox, mailbox, settled
from .tasks import call_task
from .think import rules_of, update
from .tools import RESOLVE, UnitTool
from .unitstate import Counters, UnitState

if TYPE_CHECKING:
    from .react import ReactRole


MakeCalls = Callable[..., "Calls"]


async def act(
    role: ReactRole, state: UnitState, runtime: Runtime[Frame], made: MakeCalls | None = None
) -> dict[str, Any]:
    """Run the calls and answer every one of them. Returns the update of the unit's state.

    `made` makes what runs the calls; by default alone in place, several as tasks.
    """
    frame = runtime.context
    path, unit = frame.snapshot.path, role.unit.id
    frame.run.turn_starts(path, unit)
    try:
        written = await _acted(role, state, frame, runtime, made or Calls)
    except GraphBubbleUp:
        frame.run.turn_ends(path, unit)
        raise
    except BaseException as error:
        frame.run.turn_ends(path, unit, error=type(error).__name__)
        raise
    frame.run.turn_ends(path, unit)
    return written


async def _acted(
    role: ReactRole, state: UnitState, frame: Frame, runtime: Runtime[Frame], made: MakeCalls
) -> dict[str, Any]:
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
    caller = made(role, state, frame, runtime)
    results = dict(zip((c.id for c in allowed), await caller.run(allowed, tools), strict=True))
    results |= {call.id: refused(call, str(breach)) for call in wanted[len(allowed) :]}
    box = mailbox(role.unit, state, frame, runtime.store)
    return await _settled(role, state, frame, counters, calls, results, message_text(message), breach, box)


def _within_limits(wanted: list[Call], frame: Frame) -> tuple[list[Call], Breach | None]:
    """The calls that may run, in order, and the limit that refuses the rest."""
    left = frame.meter.tool_calls_left()
    timed_out = frame.meter.seconds_left() == 0
    allowed = [] if timed_out else wanted if left is None else wanted[:left]
    if len(allowed) == len(wanted):
        return allowed, None
    return allowed, frame.meter.seconds_breach() if timed_out else frame.meter.tool_breach()


async def _settled(
    role: ReactRole,
    state: UnitState,
    frame: Frame,
    counters: Counters,
    calls: Sequence[Call],
    results: Mapping[str, CallResult],
    text: str,
    breach: Breach | None,
    box: Mailbox | None,
) -> dict[str, Any]:
    writes = [write.to_plain() for result in results.values() for write in result.writes]
    merged: UnitState = {**state, "writes": [*state.get("writes", []), *writes]}
    rules = rules_of(role, frame, counters, merged, text)
    answers = {key: noted(result.message, result.output, result.rerun) for key, result in results.items()}
    step = after_calls(rules, counters, calls, answers, text)
    said = tuple(message for result in results.values() for message in result.extra)
    step = replace(step, messages=(*step.messages, *said))
    step = _returned(role, rules, step, results)
    lost = next((result.failure for result in results.values() if result.failure), None)
    lost = lost or _conflict(results.values(), frame)
    lost = lost or (("limit", str(breach)) if breach is not None and step.ending is None else None)
    if lost is not None:
        step = replace(step, counters=step.counters.but(next="end"), ending=failure(*lost, text))
    written = update(await settled(box, step, frame, merged, role.unit, text), state, frame)
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


def _journal(frame: Frame, runtime: Runtime[Frame]) -> CallJournal | None:
    journal = CallJournal.of(frame.run.live, runtime.store, get_config())
    return journal.in_rounds(frame.snapshot.turn) if journal is not None else None


class Calls:
    """Runs the calls of one reply: alone in place, several as tasks that a crash does not repeat."""

    def __init__(self, role: ReactRole, state: UnitState, frame: Frame, runtime: Runtime[Frame]) -> None:
        self._role = role
        types = frame.snapshot.schema.types
        self._types = types
        done = [delta_from(inner, types) for inner in state.get("inner", ())]
        self._frame = frame.at(frame.snapshot.apply(compose_all(done))) if done else frame
        self._runtime = runtime
        self._journal = _journal(frame, runtime)
        self._messages: Sequence[BaseMessage] = state["messages"]
        self._writes = [StateWrite(**write) for write in state.get("writes", [])]
        self._running: dict[int, tuple[asyncio.Task[Any], Place]] = {}
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._is_stopping = False

    async def run(self, calls: Sequence[Call], tools: Mapping[str, UnitTool]) -> list[CallResult]:
        if len(calls) <= 1:
            return [await self._one(0, call, tools[call.name]) for call in calls]
        if self._role.unit.tool_execution == "sequential":
            return await self._in_order(calls, tools)
        started = [self._task(n, call, tools) for n, call in enumerate(calls)]
        finished = await self._stopping(asyncio.gather(*started, return_exceptions=True))
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
            self._frame.run.check()
            try:
                ended = await self._stopping(self._task(number, call, tools))
            except GraphInterrupt:
                raise GraphInterrupt(()) from None  # the task has recorded its own
            results.append(CallResult.from_plain(ended, self._types))
            self._writes = [*self._writes, *results[-1].writes]
        return results

    async def _stopping(self, waiting: Awaitable[Any]) -> Any:
        """Wait for calls. When the unit is stopped meanwhile, they are stopped and waited for; where the
        tool itself has ended, what it gave is still kept."""
        if not asyncio.isfuture(waiting):
            return await waiting
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._stop()
            own = asyncio.current_task()
            await asyncio.wait([waiting, *(body for body, _ in self._running.values() if body is not own)])
            raise

    def _stop(self) -> None:
        self._is_stopping = True
        for number in {*self._futures, *self._running}:
            body, place = self._running.get(number, (None, None))
            if place is None or not place.has_returned:
                # through its future, since LangGraph takes the cancel of a body alone for an error
                (self._futures.get(number) or body).cancel()  # type: ignore[union-attr]

    def _task(self, number: int, call: Call, tools: Mapping[str, UnitTool]) -> Any:
        async def run_call(_: int) -> dict[str, Any]:
            return (await self._one(number, call, tools[call.name])).to_plain()

        self._futures[number] = called = call_task(f"{call.name}#{number}", run_call, number)
        return called

    async def _one(self, number: int, call: Call, tool: UnitTool) -> CallResult:
        caller = Caller(
            self._frame,
            self._runtime,
            get_config(),
            self._messages,
            self._writes,
            self._role.unit.id,
            self._role.unit.output_cap,
            self._journal,
            number,
        )
        if self._is_stopping:
            raise asyncio.CancelledError
        body = asyncio.current_task()
        assert body is not None
        with self._frame.run.threads.calling(self._frame.snapshot.path, tool.name, call.id) as place:
            self._running[number] = body, place
            result = await caller.run(call, tool)
            place.has_returned = True
            return result

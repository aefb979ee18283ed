"""think: one model call, from the limits before it to the decision after it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from ..core.usage import Breach, Usage
from .calls import Reply, normalise_reply
from .decide import Rules, Step, after_reply, failure, reminder
from .ending import policy_check
from .frame import Frame
from .history import message_text
from .model import ModelFailure, refuses_tool_choice, usage_of
from .request import numbered, request
from .salvage import salvaged
from .shown import CallPiece
from .steering import Mailbox, drained, mailbox, settled
from .tools import RESOLVE
from .unitstate import Counters, UnitState

if TYPE_CHECKING:
    from .react import ReactRole


async def think(
    role: ReactRole,
    state: UnitState,
    frame: Frame,
    config: RunnableConfig,
    store: BaseStore | None = None,
) -> dict[str, Any]:
    """Call the model once, with what was sent to the unit meanwhile, and decide. Returns the update of
    the unit's state."""
    frame.run.check()
    counters = Counters.from_plain(state.get("progress"))
    counters = counters if counters.started else counters.but(started=time.time())
    key = frame.meter_key
    frame.meter.report(key, counters.usage)
    spent = _used_up(role, frame, counters)
    if spent is not None:
        return await _given_up(role, state, frame, config, counters, spent)
    # counted before it is made, so that units side by side cannot all take the last one
    frame.meter.report(key, counters.usage + Usage(model_calls=1))
    run, path, unit = frame.run, frame.snapshot.path, role.unit.id
    run.turn_starts(path, unit)
    try:
        box = mailbox(role.unit, state, frame, store)
        mail = await drained(box, frame, is_idle=counters.idle)
        state = mail.read(state)
        counters = counters.but(idle=False) if counters.idle else counters
        step = await _round(role, state, frame, config, counters, box and box.emptied(mail))
    except BaseException as error:
        run.turn_ends(path, unit, error=type(error).__name__)
        raise
    if step.counters.next != "act":
        run.turn_ends(path, unit)
    return mail.update(update(step, state, frame))


def update(step: Step, state: UnitState, frame: Frame) -> dict[str, Any]:
    """A step as the update of the unit's state."""
    messages = numbered(step.messages, state.get("messages", []), frame.snapshot)
    frame.meter.report(frame.meter_key, step.counters.usage)
    written: dict[str, Any] = {"progress": step.counters.to_plain()}
    if messages:
        written["messages"] = messages
    if step.ending is not None:
        written["ending"] = replace(step.ending, stop_reason=step.counters.stop_reason).to_plain()
    return written


def _used_up(role: ReactRole, frame: Frame, counters: Counters) -> str | None:
    if counters.rounds >= role.unit.max_rounds:
        return f"limit max_rounds={role.unit.max_rounds} of {role.unit.id} is used up"
    breach = frame.meter.breach()
    return str(breach) if breach else None


async def _given_up(
    role: ReactRole, state: UnitState, frame: Frame, config: RunnableConfig, counters: Counters, why: str
) -> dict[str, Any]:
    messages = state.get("messages", [])
    ending = failure("limit", why, _last_text(messages))
    if role.unit.salvage is not None and counters.rounds:
        call = role.call(role.tools(frame.snapshot), None, frame.snapshot, bare=True)
        sent = request(role.unit, frame.snapshot, messages)
        ending, usage = await salvaged(
            role.unit, role.types, ending, call, sent, _metadata(role, frame, config)
        )
        counters = counters.but(usage=counters.usage + usage)
    return update(Step((), counters.but(next="end"), ending), state, frame)


async def _round(
    role: ReactRole,
    state: UnitState,
    frame: Frame,
    config: RunnableConfig,
    counters: Counters,
    box: Mailbox | None,
) -> Step:
    held = state.get("messages", [])
    sent = request(role.unit, frame.snapshot, held)
    tries = _Tries(frame, counters.usage)
    try:
        raw, counters = await _asked(role, frame, config, counters, sent, tries)
    except ModelFailure as failed:
        counters = counters.but(usage=tries.usage(last=1), rounds=counters.rounds + 1)
        return _after_failure(role, counters, failed)
    except (TimeoutError, _NoMoreTries) as ended:
        why = ended.breach if isinstance(ended, _NoMoreTries) else frame.meter.seconds_breach()
        last = 0 if isinstance(ended, _NoMoreTries) else 1
        return Step((), counters.but(next="end", usage=tries.usage(last=last)), failure("limit", str(why)))
    counters = counters.but(usage=tries.usage() + usage_of(raw, sent), rounds=counters.rounds + 1)
    reply = _normalised(raw, held, frame, counters)
    rules = rules_of(role, frame, counters, state, reply.text)
    return await settled(box, after_reply(rules, counters, reply), frame, state, role.unit, reply.text)


class _NoMoreTries(Exception):
    """A failed model call may not be tried again, since a limit is used up."""

    def __init__(self, breach: Breach) -> None:
        super().__init__(str(breach))
        self.breach = breach


@dataclass
class _Tries:
    """The model calls of one round that failed and were tried again: they cost like any other."""

    frame: Frame
    before: Usage
    failed: int = 0

    def usage(self, *, last: int = 0) -> Usage:
        return self.before + Usage(model_calls=self.failed + last)

    def count(self) -> None:
        """Count a call that failed. Raises _NoMoreTries when a limit forbids another one."""
        self.failed += 1
        meter = self.frame.meter
        meter.report(self.frame.meter_key, self.usage())
        if (breach := meter.breach()) is not None:
            raise _NoMoreTries(breach)
        meter.report(self.frame.meter_key, self.usage(last=1))


async def _asked(
    role: ReactRole,
    frame: Frame,
    config: RunnableConfig,
    counters: Counters,
    sent: list[BaseMessage],
    tries: _Tries,
) -> tuple[AIMessage, Counters]:
    """The reply, and the counters; a server that refuses a forced tool is asked once without."""
    choice = _tool_choice(role, counters)
    try:
        return await _timed(role, frame, config, sent, choice, tries), counters
    except ModelFailure as failed:
        if choice is None or not refuses_tool_choice(failed):
            raise
        if role.unit.tool_choice is not None:
            told = f"the server refuses tool_choice={choice!r}: {failed.excerpt}"
            raise ModelFailure("provider", told, failed.status) from failed
        tries.count()
        return await _timed(role, frame, config, sent, None, tries), counters.but(unforced=True)


async def _timed(
    role: ReactRole,
    frame: Frame,
    config: RunnableConfig,
    sent: list[BaseMessage],
    choice: str | None,
    tries: _Tries,
) -> AIMessage:
    run, path = frame.run, frame.snapshot.path
    tools = role.tools(frame.snapshot)
    call = role.call(tools, choice, frame.snapshot)
    run.emit("message_start", path, unit=role.unit.id)
    message: AIMessage | None = None
    error: str | None = None

    def on_delta(delta: str, piece: CallPiece | None = None) -> None:
        about: dict[str, Any] = {}
        if piece is not None:
            name = tools.given_names.get(piece.tool, piece.tool)
            about = {"tool": name, "call_id": piece.call_id, "args": piece.args}
        run.emit("message_update", path, unit=role.unit.id, delta=delta, **about)

    def on_retry(failed: ModelFailure) -> None:
        run.emit("message_end", path, unit=role.unit.id, is_error=True, error=str(failed))
        tries.count()
        run.emit("message_start", path, unit=role.unit.id)

    try:
        async with asyncio.timeout(frame.meter.seconds_left()):
            watched = on_delta if run.streaming else None
            message = await call(sent, _metadata(role, frame, config), watched, on_retry)
        return message
    except BaseException as failed:
        error = str(failed) or type(failed).__name__
        raise
    finally:
        run.emit(
            "message_end", path, unit=role.unit.id, message=message, is_error=message is None, error=error
        )


def _metadata(role: ReactRole, frame: Frame, config: RunnableConfig) -> RunnableConfig:
    own = {"plait_unit": role.unit.id, "plait_path": frame.snapshot.path}
    return {**config, "metadata": {**config.get("metadata", {}), **own}}


def _tool_choice(role: ReactRole, counters: Counters) -> str | None:
    unit = role.unit
    last = unit.force_last_round and counters.rounds + 1 >= unit.max_rounds
    return RESOLVE if last and not counters.unforced else unit.tool_choice


def _normalised(raw: AIMessage, held: Sequence[BaseMessage], frame: Frame, counters: Counters) -> Reply:
    taken = {call["id"] or "" for m in held if isinstance(m, AIMessage) for call in m.tool_calls}
    base = f"{frame.snapshot.path}:{frame.snapshot.turn}.{counters.rounds}"
    streamed = isinstance(raw, AIMessageChunk)
    return normalise_reply(raw, taken=taken, new_id=lambda number: _call_id(base, number), streamed=streamed)


def _call_id(base: str, index: int) -> str:
    """A call id that every provider takes: letters, digits, `_` and `-`, at most 40 of them."""
    return f"call_{sha256(f'{base}/{index}'.encode()).hexdigest()[:24]}"


def _after_failure(role: ReactRole, counters: Counters, failed: ModelFailure) -> Step:
    if failed.kind == "provider":
        return Step((), counters.but(next="end"), failure("provider", failed.excerpt))
    counters = counters.but(bad=counters.bad + 1, next="think")
    if counters.bad >= role.unit.reply_attempts:
        told = f"the model's replies could not be read {counters.bad} times in a row: {failed.excerpt}"
        return Step((), counters.but(next="end"), failure("bad-model-reply", told))
    told = (
        f"Your last reply could not be read ({failed.excerpt[:200]}). Tool arguments must be one JSON object."
    )
    return Step((reminder(told),), counters)


def rules_of(role: ReactRole, frame: Frame, counters: Counters, state: UnitState, text: str) -> Rules:
    """What the decisions of this round depend on."""
    tools = role.tools(frame.snapshot)
    check = policy_check(role.unit, frame, counters, state, text)
    return Rules(role.unit, role.schema, tools.names, role.types, check, role.labels, tools.holding)


def _last_text(messages: Sequence[BaseMessage]) -> str:
    return next((text for m in reversed(messages) if m.type == "ai" and (text := message_text(m))), "")

"""Termination policies at work: what they hold back and what they end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage

from ..core.paths import memory_key
from ..core.state import SharedState, StateWrite
from .decide import Step, failure
from .frame import Frame
from .termination import Progress, gates_resolve, told
from .tools import DELEGATE
from .unit import WorkflowUnit
from .unitstate import Counters, Ending, UnitState


def policy_check(
    unit: WorkflowUnit[Any], frame: Frame, counters: Counters, state: UnitState, text: str
) -> Callable[[Any], str | None] | None:
    """For a policy that wants more than `resolve`: why a valid output is not accepted yet."""
    policy = unit.termination
    if policy is None or not gates_resolve(policy):
        return None

    def check(_: Any) -> str | None:
        stop = policy(_progress(frame, counters, state, text, resolved=True))
        holds = stop is not None and stop.status == "done"
        return None if holds else f"not accepted yet: it must first hold that {told(policy)}"

    return check


def checked(unit: WorkflowUnit[Any], step: Step, frame: Frame, state: UnitState, text: str) -> Step:
    """`step`, ended here when the unit's policy says so at the end of a round."""
    if unit.termination is None or step.ending is not None or step.counters.next == "act":
        return step
    stop = unit.termination(_progress(frame, step.counters, state, text, resolved=False))
    if stop is None:
        return step
    counters = step.counters.but(next="end")
    if stop.status != "failed" and unit.output is str and text:
        return replace(step, counters=counters, ending=Ending("done", text=text, has_value=True, value=text))
    ending = failure(stop.reason or "terminated", stop.message, text)
    return replace(step, counters=counters, ending=replace(ending, status=stop.status))


def _delegated(state: UnitState) -> tuple[str, ...]:
    """Whom the unit delegated to so far, in order."""
    made = (call for m in state.get("messages", []) if isinstance(m, AIMessage) for call in m.tool_calls)
    return tuple(call["name"].removeprefix(DELEGATE) for call in made if call["name"].startswith(DELEGATE))


def _progress(frame: Frame, counters: Counters, state: UnitState, text: str, *, resolved: bool) -> Progress:
    snapshot = frame.snapshot
    writes = [StateWrite(**write) for write in state.get("writes", [])]
    shared = SharedState(
        snapshot.values_with_outputs(),
        path=snapshot.path,
        unit=memory_key(snapshot.path),
        schema=snapshot.schema,
        writes=writes,
        writable=False,
    )
    return Progress(
        rounds=counters.rounds,
        resolved=resolved,
        stop_reason=counters.stop_reason,
        text=text,
        state=shared,
        usage=counters.usage,
        delegated=_delegated(state),
        elapsed_s=time.time() - counters.started,
    )

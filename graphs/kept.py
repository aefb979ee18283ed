"""Whether all that a thread holds can still be read: its classes are there and fit their data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.codec import decode
from .binding import Bound
from .channels import GIVEN


def check_values(bound: Bound, state: Any) -> None:
    """Raise ClassChanged for the first value in a StateSnapshot that cannot be read any more.

    Looks into the snapshots of paused parts too, when `state` has them.
    """
    check_state(bound, state.values)
    for key, plain in _outputs(state.values):
        decode(plain, key, bound.schema.types)
    for task in state.tasks:
        if hasattr(task.state, "tasks"):
            check_values(bound, task.state)


def check_state(bound: Bound, values: Any) -> None:
    """Raise ClassChanged for the first shared value, of any scope, that cannot be read any more."""
    for key, plain in _shared(values):
        decode(plain, key, bound.schema.types)


def _shared(values: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(values, Mapping):
        return
    own = values.get("state")
    scopes = {**(values.get("scopes") or {}), "workflow": own if isinstance(own, Mapping) else {}}
    for scope, kept in scopes.items():
        for key, plain in kept.items():
            if key != GIVEN:
                yield key if scope == "workflow" else f"{scope}/{key}", plain
    for write in values.get("writes") or ():
        if isinstance(write, Mapping) and {"key", "value"} <= set(write):
            yield write["key"], write["value"]


def _outputs(values: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(values, Mapping):
        return
    for record in values.get("steps") or ():
        if isinstance(record, Mapping) and "output" in record:
            yield f"output of {record['path']}", record["output"]
    for channel in ("ended", "ending"):
        ended = values.get(channel)
        if isinstance(ended, Mapping) and ended.get("value") is not None:
            yield f"output of {ended.get('path') or 'the run'}", ended["value"]

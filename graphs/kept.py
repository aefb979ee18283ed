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
    for scope, kept in {**_mapping(values, "scopes"), "workflow": _mapping(values, "state")}.items():
        for key, plain in kept.items() if isinstance(kept, Mapping) else ():
            if key != GIVEN:
                yield key if scope == "workflow" else f"{scope}/{key}", plain
    for write in _listed(values, "writes", "key"):
        yield write["key"], write.get("value")


def _outputs(values: Any) -> Iterator[tuple[str, Any]]:
    for record in _listed(values, "steps", "path"):
        yield f"output of {record['path']}", record.get("output")
    for channel in ("ended", "ending"):
        ended = _mapping(values, channel)
        yield f"output of {ended.get('path') or 'the run'}", ended.get("value")


def _mapping(values: Any, channel: str) -> Mapping[str, Any]:
    """A channel of our own graphs; somebody else's graph may keep anything under its name."""
    found = values.get(channel) if isinstance(values, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _listed(values: Any, channel: str, key: str) -> list[Mapping[str, Any]]:
    found = values.get(channel) if isinstance(values, Mapping) else None
    listed = found if isinstance(found, list) else []
    return [item for item in listed if isinstance(item, Mapping) and key in item]

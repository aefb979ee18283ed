"""Deltas and Snapshots as plain values, in which they cross checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .bus import message_from_plain
from .codec import decode, encode
from .delta import Delta
from .records import StepRecord
from .snapshot import Input, Snapshot
from .state import StateWrite
from .stored import Types


def delta_from(state: Mapping[str, Any], types: Types) -> Delta:
    """The Delta that `update_from` wrote, or that the channels of a flow's graph hold."""
    return Delta(
        steps=tuple(StepRecord.from_plain(record, types) for record in state.get("steps", ())),
        writes=tuple(StateWrite(**write) for write in state.get("writes", ())),
        bus=tuple(message_from_plain(decode(message, "bus", types)) for message in state.get("bus", ())),
        transcripts={key: tuple(messages) for key, messages in state.get("transcripts", {}).items()},
        delivered=tuple(state.get("delivered", ())),
    )


def seen_from(state: Mapping[str, Any], types: Types) -> Delta:
    """The same without the bus: a Snapshot takes nothing from it, and it may be long."""
    return delta_from({channel: value for channel, value in state.items() if channel != "bus"}, types)


def update_from(delta: Delta) -> dict[str, Any]:
    """A Delta as plain values, empty ones left out: an update of a flow's channels."""
    update = {
        "steps": [record.to_plain() for record in delta.steps],
        "writes": [write.to_plain() for write in delta.writes],
        "bus": [encode(message.to_plain(), "bus") for message in delta.bus],
        "transcripts": {key: list(messages) for key, messages in delta.transcripts.items()},
        "delivered": list(delta.delivered),
    }
    return {channel: value for channel, value in update.items() if value}


def changes_of(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """What a stage made different in a Snapshot, as plain values. Raises ValueRefused."""
    changed = (name for name in _WRITE if getattr(before, name) != getattr(after, name))
    return {name: _WRITE[name](getattr(after, name)) for name in changed}


def changed(before: Snapshot, plain: Mapping[str, Any], types: Types) -> Snapshot:
    """`before` with the changes that `changes_of` wrote."""
    return replace(before, **{name: _read(name, value, types) for name, value in plain.items()})


_WRITE: dict[str, Callable[[Any], Any]] = {
    "task": lambda task: encode(task, "task"),
    "messages": list,
    "values": dict,
    "steps": lambda steps: [step.to_plain() for step in steps],
    "inputs": lambda inputs: [[item.path, encode(item.output, item.path), item.text] for item in inputs],
    "transcripts": lambda transcripts: {key: list(held) for key, held in transcripts.items()},
}


def _read(name: str, value: Any, types: Types) -> Any:
    if name == "task":
        return decode(value, "task", types)
    if name == "messages":
        return tuple(value)
    if name == "steps":
        return tuple(StepRecord.from_plain(step, types) for step in value)
    if name == "inputs":
        return tuple(Input(path, decode(output, path, types), text) for path, output, text in value)
    if name == "transcripts":
        return {key: tuple(held) for key, held in value.items()}
    return value

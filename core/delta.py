"""Delta: what a node did. Deltas form a monoid: `compose` is associative, `Delta()` its unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage

from .bus import BusMessage
from .errors import StateConflict
from .records import StepRecord
from .state import StateWrite, conflicts
from .stateschema import UNTYPED, StateSchema
from .usage import Usage

Transcripts = Mapping[str, tuple[BaseMessage, ...]]
_Item = TypeVar("_Item", StepRecord, BusMessage)


@dataclass(frozen=True, slots=True)
class Delta:
    """State writes, step records, bus messages, transcripts and delivered message ids.

    Output, status and usage are read from the records. Transcripts replace by key, records and
    messages by id.
    """

    steps: tuple[StepRecord, ...] = ()
    writes: tuple[StateWrite, ...] = ()
    bus: tuple[BusMessage, ...] = ()
    transcripts: Transcripts = field(default_factory=dict)
    delivered: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage:
        return Usage.total(step.usage for step in self.steps)

    @property
    def output(self) -> Any:
        """The output of the last record, or None."""
        return self.steps[-1].output if self.steps else None

    def then(self, later: Delta) -> Delta:
        return compose(self, later)


def compose(first: Delta, then: Delta) -> Delta:
    """What doing `first` and `then` one after the other did."""
    return Delta(
        steps=by_id(first.steps, then.steps),
        writes=first.writes + then.writes,
        bus=by_id(first.bus, then.bus),
        transcripts={**first.transcripts, **then.transcripts},
        delivered=tuple(dict.fromkeys(first.delivered + then.delivered)),
    )


def compose_all(deltas: Iterable[Delta]) -> Delta:
    """What doing all of them in their order did; `compose` folded over them, in one pass."""
    done = list(deltas)
    transcripts: dict[str, tuple[BaseMessage, ...]] = {}
    for delta in done:
        transcripts.update(delta.transcripts)
    return Delta(
        steps=by_id((), chain.from_iterable(delta.steps for delta in done)),
        writes=tuple(chain.from_iterable(delta.writes for delta in done)),
        bus=by_id((), chain.from_iterable(delta.bus for delta in done)),
        transcripts=transcripts,
        delivered=tuple(dict.fromkeys(chain.from_iterable(delta.delivered for delta in done))),
    )


def merge(deltas: Sequence[Delta], schema: StateSchema = UNTYPED) -> Delta:
    """What steps that do not depend on each other did, given in declaration order.

    Raises StateConflict when two of them wrote one key that has no reducer.
    """
    for key, paths in conflicts([delta.writes for delta in deltas], schema).items():
        raise StateConflict(key, paths)
    return compose_all(deltas)


def by_id(old: Iterable[_Item], new: Iterable[_Item]) -> tuple[_Item, ...]:
    """`old` with `new` added; an item whose id is there already takes its place."""
    merged = {item.id: item for item in old}
    merged.update((item.id, item) for item in new)
    return tuple(merged.values())

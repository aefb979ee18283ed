"""Peers that work in rounds and hear what the others said in the rounds before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

from ..core.conditions import Predicate
from ..core.errors import DefinitionError, Fault
from ..core.failure import Failure
from ..core.part import Out, PartLike, T
from ..core.paths import pass_of
from ..core.records import StepRecord
from ..core.snapshot import Input, Snapshot
from ..core.stored import Stored
from .flow import END, START, Edge, FlowEnd, as_input, keyed, path_of
from .region import Planned, Region, input_of
from .step import as_part


@dataclass(frozen=True, init=False)
class BroadcastFlow(Region[Out]):
    """Runs its peers side by side for `rounds` rounds; each output is a broadcast to the others.

    In each round but the first a peer is given the others' outputs of the round before, and what was
    addressed to it; with memory it knows the earlier ones too. It ends early when `until` holds after
    a round, whose `inputs` are that round's outputs. The output is a mapping from peer to its last
    output. Round n of a peer runs at `…/peer[n]`.
    """

    peers: tuple[Any, ...] = ()
    rounds: int = 2
    until: Predicate | None = None
    type: ClassVar[str] = "broadcast"

    def __init__(
        self: BroadcastFlow[dict[str, T | Failure]],
        *peers: PartLike[T],
        rounds: int = 2,
        until: Predicate | None = None,
        **options: Any,
    ) -> None:
        known = {f.name: f.default for f in fields(self) if f.name not in ("peers", "rounds", "until")}
        if unknown := sorted(set(options) - set(known)):
            told = f"there is no {', '.join(unknown)}; there are {', '.join(sorted(known))}"
            raise DefinitionError([Fault("broadcast", told)])
        made = tuple(as_part(peer) for peer in peers)
        for name, value in {**known, **options, "peers": made, "rounds": rounds, "until": until}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds < 1 or not self.peers:
            told = f"it needs peers and at least one round, got {len(self.peers)} and {self.rounds}"
            raise DefinitionError([Fault(self.id or self.type, told)])

    def with_(self, **changes: Any) -> Any:
        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "peers"}
        return BroadcastFlow(*changes.pop("peers", self.peers), **{**options, **changes})

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return keyed(self.peers)

    @property
    def unordered(self) -> tuple[tuple[str, str], ...]:
        return tuple(combinations(self.parts, 2))

    @property
    def edges(self) -> tuple[Edge, ...]:
        between = [Edge(one, other, "hears") for one in self.parts for other in self.parts if one != other]
        return (*(Edge(START, key) for key in self.parts), *between, *(Edge(key, END) for key in self.parts))

    def plan(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        """The rounds so far and the next one, unless the last of them ended it."""
        planned: list[Planned] = []
        for number in range(1, self.rounds + 1):
            planned += [self._planned(snapshot, key, number) for key in self.parts]
            ran = self._round(snapshot, number)
            if len(ran) < len(self.parts) or self._is_over(snapshot, ran):
                break
        return tuple(planned)

    def end(self, snapshot: Snapshot) -> FlowEnd:
        last: dict[str, StepRecord] = {}
        for number in range(1, self.rounds + 1):
            last |= self._round(snapshot, number)
        outputs = {key: input_of(last[key]).output for key in self.parts if key in last}
        good = FlowEnd(stored=Stored.of(outputs, "output of the peers", snapshot.schema.types))
        return self.judged(last.values(), good)

    def _planned(self, snapshot: Snapshot, key: str, number: int) -> Planned:
        path = self._path(snapshot, key, number)
        if number == 1:
            return Planned(path, key, announces=True)
        others = [other for other in self.parts if other != key]
        needs = tuple(self._path(snapshot, other, number - 1) for other in self.parts)
        heard = [r for other in others if (r := snapshot.record(self._path(snapshot, other, number - 1)))]
        inputs = tuple(input_of(record) for record in heard if record.status != "skipped")
        silence = (Input("broadcasts", "", "(nobody said anything)"),)
        return Planned(path, key, needs, always=True, inputs=inputs or silence, announces=True)

    def _path(self, snapshot: Snapshot, key: str, number: int) -> str:
        return pass_of(path_of(snapshot, key), number)

    def _round(self, snapshot: Snapshot, number: int) -> dict[str, StepRecord]:
        found = {key: snapshot.record(self._path(snapshot, key, number)) for key in self.parts}
        return {key: record for key, record in found.items() if record is not None}

    def _is_over(self, snapshot: Snapshot, ran: Mapping[str, StepRecord]) -> bool:
        if self.until is None:
            return False
        outputs = tuple(as_input(record) for record in ran.values() if record.status in ("done", "partial"))
        return bool(self.until(snapshot.at(snapshot.path, outputs)))

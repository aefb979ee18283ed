"""Which step of a plan depends on which, whose doing is what, and in which order it is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

from ..core.delta import Delta
from ..core.errors import StateConflict
from ..core.state import StateWrite
from ..core.stateschema import StateSchema
from .region import Planned

_BELOW = re.compile(r"[/\[{]")


class Ancestors:
    """The paths of the steps that a step of a plan depends on, near and far, by its path."""

    def __init__(self, plan: Iterable[Planned]) -> None:
        self._needs = {step.path: step.needs for step in plan}

    def __getitem__(self, path: str) -> frozenset[str]:
        found: set[str] = set()
        waiting = list(self._needs.get(path, ()))
        while waiting:
            need = waiting.pop()
            if need not in found and need in self._needs:
                found.add(need)
                waiting.extend(self._needs[need])
        return frozenset(found)


def check_conflicts(plan: Sequence[Planned], writes: Iterable[StateWrite], schema: StateSchema) -> None:
    """Raise StateConflict when two steps, neither of which waits for the other, wrote one key
    that has no reducer."""
    owners = Owners(plan)
    writers: dict[str, dict[str, None]] = {}
    replaced: set[str] = set()
    for write in writes:
        owner = owners.of(write.path)
        if owner is None:
            continue
        name = write.key if write.scope == "workflow" else f"{write.scope}/{write.key}"
        writers.setdefault(name, {})[owner] = None
        if write.operation != "merge" or not schema.has_reducer(write.key):
            replaced.add(name)
    before = Ancestors(plan)
    for key in replaced:
        for one, other in combinations(writers[key], 2):
            if one not in before[other] and other not in before[one]:
                raise StateConflict(key, (one, other))


class Owners:
    """The steps of a plan by the paths of what they did."""

    def __init__(self, plan: Iterable[Planned]) -> None:
        self._places = {step.path: place for place, step in enumerate(plan)}

    def of(self, path: str) -> str | None:
        """The path of the step that did what is noted at `path`, or None."""
        if path in self._places:
            return path
        ends = [match.start() for match in _BELOW.finditer(path)]
        return next((path[:end] for end in reversed(ends) if path[:end] in self._places), None)

    def place(self, path: str) -> int:
        """The place in the plan of what is noted at `path`; -1 for what no step did."""
        owner = self.of(path)
        return -1 if owner is None else self._places[owner]


def in_order(done: Delta, plan: Iterable[Planned]) -> Delta:
    """What the steps of a plan did, step after step, in whatever order they ended."""
    owners = Owners(plan)
    return Delta(
        steps=tuple(sorted(done.steps, key=lambda record: owners.place(record.path))),
        writes=tuple(sorted(done.writes, key=lambda write: owners.place(write.path))),
        bus=tuple(sorted(done.bus, key=lambda message: owners.place(message.path))),
        transcripts=done.transcripts,
        delivered=done.delivered,
    )

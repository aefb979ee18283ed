"""A flow around one part that adds no segment: where a region stands in a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ..core.snapshot import Snapshot
from .flow import END, START, Edge, Flow, FlowEnd, Visit, end_of, key_of


@dataclass(frozen=True)
class Enclosed(Flow):
    """Runs its part at its own path, so that paths below are as if the part stood here itself."""

    part: Any
    type: ClassVar[str] = "enclosed"

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return {key_of(self.part): self.part}

    @property
    def edges(self) -> tuple[Edge, ...]:
        key = key_of(self.part)
        return (Edge(START, key), Edge(key, END))

    def place_of(self, key: str, path: str) -> str:
        return path

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        done = snapshot.record(snapshot.path) is not None
        return () if done else (Visit(key_of(self.part), snapshot.path, snapshot.inputs),)

    def end(self, snapshot: Snapshot) -> FlowEnd:
        record = snapshot.record(snapshot.path)
        return FlowEnd() if record is None else end_of(record)

"""The nodes of a flow's graph: find what runs now, run it, write what it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph.runtime import Runtime

from ..core.delta import Delta
from ..core.errors import PlaitError
from ..core.plain import seen_from, update_from
from ..core.snapshot import Snapshot
from ..nodes.frame import Frame
from .asking import visits
from .binding import Bound
from .flow import Visit
from .runner import Runner

NodeFunction = Callable[..., Awaitable[dict[str, Any]]]


class Place(Protocol):
    """Where a flow's nodes stand: at the root of a run or below it."""

    @property
    def flow(self) -> Any:
        """The flow whose parts the nodes are."""

    @property
    def bound(self) -> Bound:
        """The whole definition with its binding."""

    async def frame(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Frame:
        """What the flow's parts may read now."""

    def update(self, delta: Delta, state: Mapping[str, Any]) -> dict[str, Any]:
        """A Delta as the update of the flow's channels."""


def part_node(key: str, runner: Runner, place: Place) -> NodeFunction:
    """The node of a part, with the graph behind it in plain sight of LangGraph."""
    graph = runner.graph

    async def node(state: dict[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
        frame = await place.frame(state, runtime)
        visit = _visit(key, state.get("visit"), place, frame.snapshot)
        delta = await runner.visit(visit, frame, runtime, graph)
        return place.update(delta, state)

    return node


def _visit(key: str, path: str | None, place: Place, snapshot: Snapshot) -> Visit:
    """What the flow wants of the part `key` now; `path` tells apart several visits of one part."""
    wanted = (v for v in visits(place.flow, snapshot) if v.key == key and path in (None, v.path))
    found: Visit | None = next(wanted, None)
    if found is None:
        raise PlaitError(
            f"{snapshot.path or 'the workflow'}: {key!r} is not what runs next, so it cannot be run here"
        )
    return found


@dataclass(frozen=True)
class InnerPlace:
    """A flow below the root: what it may read comes as a Frame, what it did stays in its channels."""

    flow: Any
    bound: Bound

    async def frame(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Frame:
        given: Frame = runtime.context
        done = seen_from(state, self.bound.schema.types)
        for record in done.steps:
            given.meter.report(record.id, record.usage)  # in place of what it reported while it ran
        return given.at(given.snapshot.apply(done))

    def update(self, delta: Delta, state: Mapping[str, Any]) -> dict[str, Any]:
        return update_from(delta)

"""LiveTree: what a run is doing, folded from its events. Pure; a terminal and a notebook draw it.

`tree = LiveTree.of(flow)`, then `tree = tree.after(event)` for each event of a run; `tree.rows` are the
lines to show. Nothing here knows of time: `LiveNode.elapsed_s(now)` is told it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..core.events import Event
from ..core.paths import definition_key
from ..core.records import StepRecord
from ..graphs.flow import key_of, walk
from .livenode import LiveKind, LiveNode, LiveRow, LiveStatus
from .liverows import rows_of

KEPT_TEXT = 400
"""How many characters of what a unit writes are kept: its end."""


@dataclass(frozen=True)
class LiveTree:
    """A run under way: `nodes` by path in the order in which they began, the run itself under "".

    `places` are the paths at which the flow's units and steps stand, with their ids; with it, `rows` and
    `at` also show what waits. `LiveTree()` knows of no flow and shows what has begun.
    """

    nodes: Mapping[str, LiveNode] = field(default_factory=lambda: {"": LiveNode("", kind="run")})
    places: Mapping[str, LiveNode] = field(default_factory=dict)

    @classmethod
    def of(cls, flow: Any) -> LiveTree:
        """The tree of a run of `flow` that has not begun."""
        leaves = {path or key_of(part): part for path, part in walk(flow) if not hasattr(part, "parts")}
        return cls(places={path: _waiting(path, part) for path, part in leaves.items()})

    def after(self, *events: Event) -> LiveTree:
        """The tree once `events` have happened, in their order."""
        nodes = dict(self.nodes)
        for event in events:
            node = nodes.get(event.path) or LiveNode(event.path, event.unit or "")
            nodes[event.path] = _after(node, event)
            if event.is_last:
                nodes = _closed(nodes, event)
        return LiveTree(nodes, self.places)

    def knowing(self, steps: Iterable[StepRecord]) -> LiveTree:
        """The tree with what had run before, as when a run is resumed: its events tell the rest only."""
        return LiveTree({**self.nodes, **_told(self.nodes, steps)}, self.places)

    @property
    def run(self) -> LiveNode:
        """The run itself; `status` says how it ended."""
        return self.nodes[""]

    @property
    def is_over(self) -> bool:
        return self.run.status not in ("waiting", "running")

    @property
    def leaves(self) -> tuple[LiveNode, ...]:
        """The units and steps that have begun, in that order."""
        return tuple(node for path, node in self.nodes.items() if path)

    @property
    def running(self) -> tuple[LiveNode, ...]:
        """The units that run now."""
        return tuple(node for node in self.leaves if node.status == "running")

    @property
    def model_calls(self) -> int:
        return sum(node.model_calls for node in self.leaves)

    @property
    def tokens(self) -> int:
        return sum(node.tokens for node in self.leaves)

    @cached_property
    def rows(self) -> tuple[LiveRow, ...]:
        """Units, steps and the flows around them as an indented list, what waits included."""
        return rows_of(self)

    def at(self, place: str) -> LiveNode:
        """The unit or step that stands at `place` in the flow: its newest pass, or one that runs."""
        return self._by_place.get(place) or _left(self.places.get(place) or LiveNode(place), self.run.status)

    def place_of(self, node: LiveNode) -> str | None:
        """Where in the flow a node stands; None for one that was planned in the run."""
        place = definition_key(node.path)
        if place in self.places:
            return place
        return self._by_unit.get((place.rpartition("/")[0], node.unit))

    @cached_property
    def _by_unit(self) -> Mapping[tuple[str, str], str]:
        return {(place.rpartition("/")[0], node.unit): place for place, node in self.places.items()}

    @cached_property
    def _by_place(self) -> Mapping[str, LiveNode]:
        found: dict[str, LiveNode] = {}
        for node in self.leaves:
            place = self.place_of(node)
            if place is not None and (place not in found or found[place].status != "running"):
                found[place] = node
        return found


def _waiting(path: str, part: Any) -> LiveNode:
    kind: LiveKind = "step" if getattr(part, "type", "") == "step" else "unit"
    return LiveNode(path, getattr(part, "id", None) or "", kind)


def _left(node: LiveNode, ended: LiveStatus) -> LiveNode:
    """What never began: skipped, once the run is over and cannot be resumed."""
    is_left = node.status == "waiting" and ended in ("done", "partial")
    return replace(node, status="skipped") if is_left else node


def _after(node: LiveNode, event: Event) -> LiveNode:
    """The node once an event of its path has happened."""
    if event.type == "agent_start":
        return replace(
            node, status="running", reason=None, error=None, calls=(), started_s=event.time, ended_s=None
        )
    if event.type == "agent_end":
        status = event.outcome or "failed"
        ended = event.time
        return replace(node, status=status, reason=event.reason, error=event.error, calls=(), ended_s=ended)
    if event.type == "message_start":
        return replace(node, text="", writing="")
    if event.type == "message_update":
        text = f"{node.text}{event.delta or ''}"[-KEPT_TEXT:]
        return replace(node, text=text, writing=event.tool or node.writing)
    if event.type == "message_end":
        told = node.model_calls + (event.message is not None)
        return replace(node, writing="", model_calls=told, tokens=node.tokens + _tokens(event.message))
    if event.type == "tool_execution_start":
        call = (event.call_id or "", event.tool or "")
        return replace(node, calls=(*node.calls, call), tool_calls=node.tool_calls + 1)
    if event.type == "tool_execution_end":
        return replace(node, calls=tuple(call for call in node.calls if call[0] != event.call_id))
    return node


def _tokens(message: Any) -> int:
    spent = getattr(message, "usage_metadata", None) or {}
    return int(spent.get("input_tokens", 0)) + int(spent.get("output_tokens", 0))


def _closed(nodes: Mapping[str, LiveNode], event: Event) -> dict[str, LiveNode]:
    """The nodes of a run that is over: what its result says of them, which events do not say of steps."""
    ended: LiveStatus = "paused" if event.outcome == "paused" else "cancelled"
    left = {
        path: replace(node, status=ended, calls=(), ended_s=event.time) if node.status == "running" else node
        for path, node in nodes.items()
    }
    return left if event.result is None else {**left, **_told(nodes, event.result.steps)}


def _told(nodes: Mapping[str, LiveNode], steps: Iterable[StepRecord]) -> dict[str, LiveNode]:
    return {record.path: _recorded(nodes.get(record.path), record) for record in steps}


def _recorded(node: LiveNode | None, record: StepRecord) -> LiveNode:
    status: LiveStatus = "failed" if record.status == "rewound" else record.status
    return replace(
        node or LiveNode(record.path, record.unit),
        kind="step" if record.kind == "step" else "unit",
        status=status,
        reason=record.reason,
        error=record.message or None,
        calls=(),
        model_calls=record.usage.model_calls,
        tool_calls=record.usage.tool_calls,
        tokens=record.usage.tokens,
        started_s=record.started_at or None,
        ended_s=record.started_at + record.duration_s if record.started_at else None,
    )

"""A live run as an indented list: its units and steps, and the flows around them with what those came to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..core.paths import definition_key
from .livenode import LiveNode, LiveRow, LiveStatus

if TYPE_CHECKING:
    from .live import LiveTree


@dataclass
class _Branch:
    """A path with what stands below it, in order; `node` is None for a flow."""

    path: str
    node: LiveNode | None = None
    below: dict[str, _Branch] = field(default_factory=dict)


def rows_of(tree: LiveTree) -> tuple[LiveRow, ...]:
    """The nodes of a tree as rows: in the order of the flow, then passes in the order they began."""
    top = _Branch("")
    for node in _in_order(tree):
        _put(top, node)
    return tuple(row for branch in top.below.values() for row in _rows(branch, 0))


def _in_order(tree: LiveTree) -> Iterator[LiveNode]:
    by_place: dict[str | None, list[LiveNode]] = {}
    for node in tree.leaves:
        by_place.setdefault(tree.place_of(node), []).append(node)
    passes = _newest(tree.leaves)
    for place in tree.places:
        for node in by_place.pop(place, ()) or (_waiting_in(passes, tree.at(place)),):
            yield node
    for nodes in by_place.values():
        yield from nodes


def _newest(nodes: Sequence[LiveNode]) -> dict[str, str]:
    """The newest path that stands for each flow: `deep/security` is at `deep/security[2]` now."""
    found: dict[str, str] = {}
    for node in nodes:
        path = node.path.rpartition("/")[0]
        while path:
            found[definition_key(path)] = path
            path = path.rpartition("/")[0]
    return found


def _waiting_in(passes: dict[str, str], node: LiveNode) -> LiveNode:
    """What waits, in the pass that is under way around it."""
    above, _, name = node.path.rpartition("/")
    place, rest = above, name
    while place and place not in passes:
        place, _, last = place.rpartition("/")
        rest = f"{last}/{rest}"
    return replace(node, path=f"{passes[place]}/{rest}") if place else node


def _put(top: _Branch, node: LiveNode) -> None:
    at, path = top, ""
    for segment in node.path.split("/"):
        path = f"{path}/{segment}" if path else segment
        at = at.below.setdefault(path, _Branch(path))
    at.node = node


def _rows(branch: _Branch, depth: int) -> Iterator[LiveRow]:
    below = [row for inner in branch.below.values() for row in _rows(inner, depth + 1)]
    yield LiveRow(
        depth, branch.node or _flow(branch.path, [row.node for row in below if row.node.kind != "flow"])
    )
    yield from below


def _flow(path: str, nodes: Sequence[LiveNode]) -> LiveNode:
    """A flow as what its units and steps are: their sums, and the status that says most."""
    begun = [node.started_s for node in nodes if node.started_s is not None]
    ended = [node.ended_s for node in nodes if node.ended_s is not None]
    status = flow_status(nodes)
    return LiveNode(
        path,
        kind="flow",
        status=status,
        model_calls=sum(node.model_calls for node in nodes),
        tool_calls=sum(node.tool_calls for node in nodes),
        tokens=sum(node.tokens for node in nodes),
        started_s=min(begun, default=None),
        ended_s=max(ended, default=None) if status not in ("running", "waiting") else None,
    )


def flow_status(nodes: Sequence[LiveNode]) -> LiveStatus:
    """Under way while anything runs or is still to come; then as bad as what ended in it."""
    found = {node.status for node in nodes}
    if "running" in found or ("waiting" in found and len(found) > 1 and "paused" not in found):
        return "running"
    last = max(nodes, key=lambda node: node.ended_s or 0.0).status
    for status in ("paused", "cancelled"):
        if status in found:
            return status
    if last == "failed":
        return "failed"
    if found & {"failed", "partial"}:
        return "partial"
    return "done" if "done" in found else last

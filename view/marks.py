"""How parts stand while a run goes on: their colours in a picture, and the sign at their corner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from .live import LiveTree
from .livenode import LiveStatus
from .liverows import flow_status
from .shapes import Box, Group, Shape
from .theme import STATUS_COLOURS

Standing: TypeAlias = "dict[str, LiveStatus]"
"""How the part at each place of a picture stands."""

RADIUS = 8.0
FAINT = ("waiting", "skipped")

_SIGNS: dict[LiveStatus, str] = {
    "running": '<path d="M-2.5,-4 L4,0 L-2.5,4 z" fill="#fff"/>',
    "done": '<path d="M-4,0.5 L-1,3.5 L4,-3" fill="none" stroke="#fff" stroke-width="2"/>',
    "partial": '<path d="M-4,0 H4" fill="none" stroke="#fff" stroke-width="2.2"/>',
    "failed": '<path d="M-3,-3 L3,3 M-3,3 L3,-3" fill="none" stroke="#fff" stroke-width="2"/>',
    "paused": '<path d="M-2,-3.5 V3.5 M2,-3.5 V3.5" fill="none" stroke="#fff" stroke-width="2.2"/>',
    "cancelled": '<rect x="-3" y="-3" width="6" height="6" fill="#fff"/>',
}


def standing(picture: Group, tree: LiveTree) -> Standing:
    """How each part of a picture stands in a run."""
    found: Standing = {}
    for shape in picture.shapes:
        _stand(shape, tree, found)
    return found


def _stand(shape: Shape, tree: LiveTree, found: Standing) -> None:
    if isinstance(shape, Group):
        for inner in shape.shapes:
            _stand(inner, tree, found)
        if nodes := [tree.at(place) for place in _places(shape)]:
            found[shape.place] = flow_status(nodes)
    elif shape.kind in ("unit", "step"):
        found[shape.place] = tree.at(shape.place).status


def _places(group: Group) -> Iterator[str]:
    for shape in group.shapes:
        if isinstance(shape, Box):
            if shape.kind in ("unit", "step"):
                yield shape.place
        else:
            yield from _places(shape)


def sign(status: LiveStatus, x: float, y: float) -> Iterator[str]:
    """The sign of a status, for those who do not tell the colours apart; none for what has not begun."""
    if status not in FAINT:
        ground = f'<circle r="{RADIUS}" fill="{STATUS_COLOURS[status][0]}" stroke="#fff" stroke-width="1.5"/>'
        yield f'<g transform="translate({x:.1f} {y:.1f})">{ground}{_SIGNS[status]}</g>'

"""What a picture is made of: boxes for units and steps, groups for flows, lines between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..core.paths import join
from ..graphs.broadcast import BroadcastFlow
from ..graphs.dag import DAGFlow
from ..graphs.delegation import DelegationFlow
from ..graphs.enclosed import Enclosed
from ..graphs.executors import Executors
from ..graphs.flow import END, START, Edge, Flow, key_of
from ..graphs.loop import LoopFlow
from ..graphs.sequential import SequentialFlow
from .captions import SELF_EVIDENT, box_notes, caption, group_notes

Style = Literal["flow", "planned", "again", "delegates", "hears"]
BoxKind = Literal["unit", "step", "start", "end", "hub"]
HUB = "_hub"


@dataclass(frozen=True, slots=True)
class Line:
    """A way between two shapes of one group, by their keys. `delegates` and `hears` go both ways."""

    source: str
    target: str
    label: str = ""
    style: Style = "flow"


@dataclass(frozen=True, slots=True)
class Box:
    """A unit, a step, or a mark; `notes` are the small lines below the title. `place` is the path at which
    it stands in the flow, passes left out."""

    key: str
    kind: BoxKind
    title: str = ""
    notes: tuple[str, ...] = ()
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Group:
    """A flow with what stands in it. `kind` is its type, `caption` says the type and its numbers."""

    key: str
    kind: str
    title: str
    caption: str
    notes: tuple[str, ...]
    shapes: tuple[Shape, ...]
    lines: tuple[Line, ...]
    place: str = field(default="", compare=False)


Shape: TypeAlias = Box | Group


def whole(part: Any) -> Group:
    """The whole picture: the part between a start and an end."""
    place = "" if hasattr(part, "parts") else key_of(part)
    shape = shape_of("", part, place)
    lines = (Line(START, shape.key), Line(shape.key, END))
    return Group("", "picture", "", "", (), (Box(START, "start"), shape, Box(END, "end")), lines)


def shape_of(key: str, part: Any, place: str) -> Shape:
    """The shape of a part that stands under `key` at `place`; a root has no key."""
    name = getattr(part, "id", None) or ""
    title = key or name
    alias = (f"unit {name}",) if key and name and name != key.partition("~")[0] else ()
    if not hasattr(part, "parts"):
        kind: BoxKind = "step" if getattr(part, "type", "") == "step" else "unit"
        return Box(key, kind, title, (*alias, *box_notes(part)), place)
    kind_name = str(part.type)
    shapes, lines = _inside(part, place)
    shown = "" if title == kind_name else title
    return Group(key, kind_name, shown, caption(part), group_notes(part), shapes, lines, place)


def _inside(flow: Any, place: str) -> tuple[tuple[Shape, ...], tuple[Line, ...]]:
    parts, edges = _flat(flow, place)
    shapes = [shape_of(key, part, at) for key, (part, at) in parts.items()]
    if isinstance(flow, BroadcastFlow) and len(parts) > 1:
        hub = Box(HUB, "hub", "each hears the others")
        return (*shapes, hub), tuple(Line(key, HUB, style="hears") for key in parts)
    if flow.type in SELF_EVIDENT:
        edges = [edge for edge in edges if edge.source != START and edge.target != END]
    else:
        shapes = [Box(START, "start"), *shapes, Box(END, "end")]
    return tuple(shapes), tuple(_lines(flow, edges))


def _lines(flow: Any, edges: Iterable[Edge]) -> Iterable[Line]:
    """The edges as lines, several between the same two shapes as one."""
    labels: dict[tuple[str, str], dict[str, None]] = {}
    for edge in edges:
        labels.setdefault((edge.source, edge.target), {})[edge.label] = None
    for (source, target), said in labels.items():
        label = " / ".join(one for one in said if one)
        if isinstance(flow, DelegationFlow):
            if source == flow.orchestrator_key:
                yield Line(source, target, label, "delegates")
        else:
            yield Line(source, target, label, _style(flow, source, label))


def _style(flow: Any, source: str, label: str) -> Style:
    if label == "again":
        return "again"
    is_planned = isinstance(flow, DAGFlow) and flow.dependencies is None and source == flow.planner_key
    return "planned" if is_planned else "flow"


def _flat(flow: Any, place: str) -> tuple[dict[str, tuple[Any, str]], list[Edge]]:
    """The parts of a flow with their places, and its edges; a part at the flow's own path is opened up."""
    parts: dict[str, tuple[Any, str]] = {}
    edges = list(flow.edges)
    for key, part in flow.parts.items():
        at = flow.place_of(key, place) if isinstance(flow, Flow) else join(place, key)
        if not _stands_in_place(flow, part):
            parts[key] = part, at
            continue
        inner_parts, inner = _flat(part, at)
        parts |= inner_parts
        edges = _spliced(edges, key, inner)
    return parts, edges


def _stands_in_place(flow: Any, part: Any) -> bool:
    bare = isinstance(part, SequentialFlow) and part.type == "sequence" and not part.id and not part.when
    return isinstance(part, Executors | Enclosed) or (
        isinstance(flow, LoopFlow) and bare and len(part.steps) > 0
    )


def _spliced(edges: list[Edge], key: str, inner: list[Edge]) -> list[Edge]:
    """`edges` with the flow `key` replaced by what is in it."""
    entries = [edge.target for edge in inner if edge.source == START]
    exits = [edge.source for edge in inner if edge.target == END]
    made = [edge for edge in inner if edge.source != START and edge.target != END]
    for edge in edges:
        sources = exits if edge.source == key else [edge.source]
        targets = entries if edge.target == key else [edge.target]
        made += [replace(edge, source=source, target=target) for source in sources for target in targets]
    return made

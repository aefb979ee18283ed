"""Where the shapes of one group stand and which way its lines go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .layers import Link, Node, across, backward, chains, ordered, ranked
from .measure import text_width
from .shapes import Line

GAP_ACROSS, GAP_DOWN = 28.0, 44.0
LANE, THREAD = 18.0, 12.0
LABEL_SIZE, LABEL_HEIGHT = 12.0, 20.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Spot:
    """A rectangle: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


@dataclass(frozen=True, slots=True)
class Way:
    """The drawn course of a line. `curved`: bows between points at different heights, else corners.
    `label_at` is the middle of the label."""

    line: Line
    points: tuple[Point, ...]
    label_at: Point | None
    curved: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A group laid out, its left upper corner at 0, 0."""

    spots: Mapping[str, Spot]
    ways: tuple[Way, ...]
    width: float
    height: float


def label_width(label: str) -> float:
    return text_width(label, LABEL_SIZE) + 12 if label else 0.0


@dataclass(frozen=True)
class _Layout:
    """One group while it is laid out: its lines apart into those that go down and those that go up."""

    sizes: Mapping[str, tuple[float, float]]
    lines: Sequence[Line]
    down: Mapping[int, Link]
    up: tuple[int, ...]
    layers: Sequence[Sequence[Node]]
    passed: Mapping[int, Sequence[Node]]
    middles: Mapping[Node, float]
    tops: Sequence[float]
    bottoms: Sequence[float]

    def spot(self, key: str) -> Spot:
        width, height = self.sizes[key]
        return Spot(self.middles[key] - width / 2, self.tops[self.layer_of(key)], width, height)

    def layer_of(self, key: str) -> int:
        return next(number for number, layer in enumerate(self.layers) if key in layer)


def planned(sizes: Mapping[str, tuple[float, float]], lines: Sequence[Line]) -> Plan:
    """Lay out shapes of the given sizes (width, height) and the lines between them."""
    if not sizes:
        return Plan({}, (), 0.0, 0.0)
    made = _laid_out(sizes, lines)
    spots = {key: made.spot(key) for key in sizes}
    threads = [made.middles[node] + THREAD / 2 for chain in made.passed.values() for node in chain[1:-1]]
    edge = max([*(spot.right for spot in spots.values()), *threads])
    ways = [_down(made, number, spots) for number in made.down]
    for number in made.up:
        edge += LANE
        ways.append(_up(made, number, spots, edge))
        edge += label_width(lines[number].label)
    return _moved(spots, ways, edge)


def _laid_out(sizes: Mapping[str, tuple[float, float]], lines: Sequence[Line]) -> _Layout:
    keys = list(sizes)
    up = backward(keys, [(line.source, line.target) for line in lines])
    down = {n: (line.source, line.target) for n, line in enumerate(lines) if n not in up}
    ranks = ranked(keys, list(down.values()))
    passed = chains(down, ranks)
    layers = ordered(ranks, passed)
    widths: dict[Node, float] = {node: THREAD for layer in layers for node in layer}
    for key in keys:
        labels = sum(label_width(lines[number].label) for number, link in down.items() if link[1] == key)
        widths[key] = max(sizes[key][0], labels)
    middles = across(layers, passed, widths, GAP_ACROSS)
    tops, bottoms = _heights(sizes, lines, down, layers)
    return _Layout(sizes, lines, down, tuple(sorted(up)), layers, passed, middles, tops, bottoms)


def _heights(
    sizes: Mapping[str, tuple[float, float]],
    lines: Sequence[Line],
    down: Mapping[int, Link],
    layers: Sequence[Sequence[Node]],
) -> tuple[list[float], list[float]]:
    """Where each layer begins and ends; there is room for labels above the layers they lead to."""
    labelled = {target for number, (_, target) in down.items() if lines[number].label}
    tops: list[float] = []
    bottoms: list[float] = []
    for number, layer in enumerate(layers):
        room = LABEL_HEIGHT if any(node in labelled for node in layer) else 0.0
        tops.append(bottoms[-1] + GAP_DOWN + room if number else 0.0)
        bottoms.append(tops[-1] + max(sizes[node][1] if isinstance(node, str) else 0.0 for node in layer))
    return tops, bottoms


def _down(made: _Layout, number: int, spots: Mapping[str, Spot]) -> Way:
    line, chain = made.lines[number], made.passed[number]
    source, target = spots[line.source], spots[line.target]
    layer = made.layer_of(line.source)
    points: list[Point] = [(source.middle, source.bottom), (source.middle, made.bottoms[layer])]
    for node in chain[1:-1]:
        layer += 1
        points += [(made.middles[node], made.tops[layer]), (made.middles[node], made.bottoms[layer])]
    x = _port(made, number, target)
    room = LABEL_HEIGHT if line.label else 0.0
    points += [(x, target.y - room), (x, target.y)]
    label_at = (x, target.y - LABEL_HEIGHT) if line.label else None
    return Way(line, tuple(points), label_at, curved=True)


def _port(made: _Layout, number: int, target: Spot) -> float:
    """Where a line enters: in the middle, or beside each other when several are labelled."""
    key = made.lines[number].target
    entering = [n for n, link in made.down.items() if link[1] == key]
    if not any(made.lines[n].label for n in entering):
        return target.middle
    entering.sort(key=lambda n: made.middles[made.passed[n][-2]])
    widths = [max(label_width(made.lines[n].label), THREAD) for n in entering]
    place = entering.index(number)
    return target.middle - sum(widths) / 2 + sum(widths[:place]) + widths[place] / 2


def _up(made: _Layout, number: int, spots: Mapping[str, Spot], lane: float) -> Way:
    """A way back, along a lane at the right: from side to side where nothing stands between, else
    from below the source to above the target."""
    line = made.lines[number]
    source, target = spots[line.source], spots[line.target]
    own = made.up.index(number) * 3.0
    first, last = _side(source, 0.7), _side(target, 0.3)
    start: list[Point] = [first, (lane, first[1])]
    end: list[Point] = [(lane, last[1]), last]
    if _is_shut_in(made, line.source):
        x, y = source.middle + 14, made.bottoms[made.layer_of(line.source)] + 8 + own
        start = [(x, source.bottom), (x, y), (lane, y)]
    if _is_shut_in(made, line.target):
        x, y = target.middle + 14, target.y - 10 - own
        end = [(lane, y), (x, y), (x, target.y)]
    beside = lane + label_width(line.label) / 2
    label_at = (beside, (start[-1][1] + end[0][1]) / 2) if line.label else None
    return Way(line, (*start, *end), label_at, curved=False)


def _side(spot: Spot, share: float) -> Point:
    return spot.right, spot.y + spot.height * share


def _is_shut_in(made: _Layout, key: str) -> bool:
    return made.layers[made.layer_of(key)][-1] != key


def _moved(spots: Mapping[str, Spot], ways: Sequence[Way], edge: float) -> Plan:
    """All of it so that its left upper corner is at 0, 0, with its size."""
    points = [point for way in ways for point in way.points]
    sides = [side for way in ways for side in _label_sides(way)]
    left = min([*(s.x for s in spots.values()), *(x for x, _ in points), *sides])
    right = max([*(s.right for s in spots.values()), *sides, edge])
    top = min([*(s.y for s in spots.values()), *(y for _, y in points)])
    bottom = max([*(s.bottom for s in spots.values()), *(y for _, y in points)])
    placed = {key: Spot(s.x - left, s.y - top, s.width, s.height) for key, s in spots.items()}
    moved = tuple(_shifted(way, -left, -top) for way in ways)
    return Plan(placed, moved, right - left, bottom - top)


def _label_sides(way: Way) -> tuple[float, ...]:
    if way.label_at is None:
        return ()
    half = label_width(way.line.label) / 2
    return way.label_at[0] - half, way.label_at[0] + half


def _shifted(way: Way, x: float, y: float) -> Way:
    points = tuple((px + x, py + y) for px, py in way.points)
    label_at = (way.label_at[0] + x, way.label_at[1] + y) if way.label_at else None
    return Way(way.line, points, label_at, way.curved)

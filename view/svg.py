"""A picture as SVG: shapes measured from the inside out, then drawn from the outside in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from .marks import FAINT, Standing, sign
from .measure import text_width, wrapped
from .routes import LABEL_HEIGHT, LABEL_SIZE, Plan, Point, Way, label_width, planned
from .shapes import Box, Group, Shape
from .theme import COLOURS, FONT, MARKERS, PLAIN, STATUS_COLOURS, STROKES

TITLE, NOTE = 14.0, 11.5
TITLE_LINE, NOTE_LINE = 19.0, 16.0
PAD, MARGIN = 14.0, 16.0
WIDEST = 230.0
MARK, CORNER = 14.0, 9.0


@dataclass(frozen=True, slots=True)
class _Measured:
    """A shape with its size and the lines of its texts; a group also with what it holds."""

    shape: Shape
    width: float
    height: float
    titles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    plan: Plan = Plan({}, (), 0.0, 0.0)
    inside: tuple[_Measured, ...] = ()


def svg_of(picture: Group, standing: Standing | None = None) -> str:
    """The picture as one SVG element that needs nothing from outside; `standing` colours its parts."""
    inside = tuple(_measured(shape) for shape in picture.shapes)
    plan = _plan(picture, inside)
    width, height = plan.width + 2 * MARGIN, plan.height + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:100%;height:auto" font-family="{FONT}">'
    )
    body = _Painter(standing or {}).contents(inside, plan, MARGIN, MARGIN, 0)
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    return "\n".join([head, MARKERS, ground, *body, "</svg>"]) + "\n"


def _measured(shape: Shape) -> _Measured:
    if isinstance(shape, Group):
        return _measured_group(shape)
    if shape.kind in ("start", "end"):
        return _Measured(shape, MARK, MARK)
    titles = wrapped(shape.title, TITLE * 1.1, WIDEST)
    notes = [line for note in shape.notes for line in wrapped(note, NOTE, WIDEST)]
    width = max([*(text_width(t, TITLE, bold=True) for t in titles), *(text_width(n, NOTE) for n in notes)])
    height = len(titles) * TITLE_LINE + len(notes) * NOTE_LINE + 14
    return _Measured(shape, max(width + 24, 70), height, tuple(titles), tuple(notes))


def _measured_group(group: Group) -> _Measured:
    inside = tuple(_measured(shape) for shape in group.shapes)
    plan = _plan(group, inside)
    titles = wrapped(group.title, TITLE * 1.1, max(WIDEST, plan.width)) if group.title else []
    notes = [line for note in group.notes for line in wrapped(note, NOTE, max(WIDEST, plan.width))]
    texts = [
        *(text_width(title, TITLE, bold=True) for title in titles),
        *(text_width(n, NOTE) for n in notes),
    ]
    first = (texts[0] + 10 if titles else 0) + _pill_width(group)
    width = max([plan.width, first, *texts]) + 2 * PAD
    height = plan.height + _header(len(titles), len(notes)) + PAD
    return _Measured(group, width, height, tuple(titles), tuple(notes), plan, inside)


def _plan(group: Group, inside: tuple[_Measured, ...]) -> Plan:
    return planned({one.shape.key: (one.width, one.height) for one in inside}, group.lines)


def _header(titles: int, notes: int) -> float:
    return max(titles, 1) * TITLE_LINE + notes * NOTE_LINE + 20


def _pill_width(group: Group) -> float:
    return text_width(group.caption, NOTE) + 14


@dataclass(frozen=True, slots=True)
class _Painter:
    """Draws what is measured; parts that stand somehow in a run in the colours of that."""

    standing: Standing

    def contents(
        self, inside: tuple[_Measured, ...], plan: Plan, x: float, y: float, depth: int
    ) -> Iterator[str]:
        for one in inside:
            spot = plan.spots[one.shape.key]
            yield from self._drawn(one, x + spot.x, y + spot.y, depth)
        for way in plan.ways:
            yield _path(way, x, y)
        for way in plan.ways:
            yield from _label(way, x, y)

    def _drawn(self, one: _Measured, x: float, y: float, depth: int) -> Iterator[str]:
        if isinstance(one.shape, Group):
            yield from self._group(one, one.shape, x, y, depth)
        elif one.shape.kind in ("start", "end"):
            yield from _mark(one.shape, x + MARK / 2, y + MARK / 2)
        else:
            yield from self._box(one, one.shape, x, y)

    def _box(self, one: _Measured, box: Box, x: float, y: float) -> Iterator[str]:
        status = self.standing.get(box.place)
        stroke, fill = STATUS_COLOURS[status] if status else COLOURS.get(box.kind, PLAIN)
        round_ = one.height / 2 if box.kind == "hub" else 6
        rest = ' stroke-width="2"' if status and status not in FAINT else ""
        rest += ' stroke-dasharray="5 3"' if box.kind == "step" else ""
        if status in FAINT:
            yield f'<g opacity="{0.45 if status == "skipped" else 0.8}">'
        yield _rect(x, y, one.width, one.height, round_, f'fill="{fill}" stroke="{stroke}"{rest}')
        yield from _box_texts(one, x + one.width / 2, y + 7)
        if status in FAINT:
            yield "</g>"
        elif status:
            yield from sign(status, x + one.width - 3, y + 3)

    def _group(self, one: _Measured, group: Group, x: float, y: float, depth: int) -> Iterator[str]:
        status = self.standing.get(group.place)
        stroke, fill = COLOURS.get(group.kind, PLAIN)
        ground = fill if depth % 2 == 0 else "#ffffff"
        edge = f'stroke="{STATUS_COLOURS[status][0]}" stroke-width="2.4"' if status == "running" else ""
        edge = edge or f'stroke="{stroke}" stroke-width="1.4"'
        if status == "skipped":
            yield '<g opacity="0.45">'
        yield _rect(x, y, one.width, one.height, 10, f'fill="{ground}" {edge}')
        yield from _group_texts(one, group, stroke, x + PAD, y)
        free = one.width - 2 * PAD - one.plan.width
        top = y + _header(len(one.titles), len(one.notes))
        inner = self if status != "skipped" else _Painter({})
        yield from inner.contents(one.inside, one.plan, x + PAD + free / 2, top, depth + 1)
        if status == "skipped":
            yield "</g>"
        elif status:
            yield from sign(status, x + one.width - 6, y + 6)


def _box_texts(one: _Measured, middle: float, at: float) -> Iterator[str]:
    for title in one.titles:
        yield _text(title, middle, at + 14, TITLE, 'text-anchor="middle" font-weight="600"')
        at += TITLE_LINE
    for note in one.notes:
        yield _text(note, middle, at + 12, NOTE, 'text-anchor="middle"', "#4a5568")
        at += NOTE_LINE


def _group_texts(one: _Measured, group: Group, colour: str, left: float, y: float) -> Iterator[str]:
    at = y + 8
    for title in one.titles:
        yield _text(title, left, at + 14, TITLE, 'font-weight="600"')
        at += TITLE_LINE
    pill = left + (text_width(one.titles[0], TITLE, bold=True) + 10 if one.titles else 0)
    yield _rect(pill, y + 9, _pill_width(group), 18, 9, f'fill="{colour}"')
    yield _text(group.caption, pill + _pill_width(group) / 2, y + 22, NOTE, 'text-anchor="middle"', "#ffffff")
    at = max(at, y + 8 + TITLE_LINE) + 2
    for note in one.notes:
        yield _text(note, left, at + 12, NOTE, "", "#4a5568")
        at += NOTE_LINE


def _mark(box: Box, x: float, y: float) -> Iterator[str]:
    if box.kind == "end":
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6.5" fill="#ffffff" stroke="#1a202c"/>'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 if box.kind == "end" else 6.5}" fill="#1a202c"/>'


def _path(way: Way, x: float, y: float) -> str:
    points = _apart([(px + x, py + y) for px, py in way.points])
    course = _bowed(points) if way.curved else _cornered(points)
    return f'<path d="{course}" fill="none" {STROKES[way.line.style]}/>'


def _apart(points: list[Point]) -> list[Point]:
    """Without points that repeat the one before: a piece of no length would turn the arrow's head."""
    kept = points[:1]
    for point in points[1:]:
        if abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= 0.5:
            kept.append(point)
    return kept


def _bowed(points: list[Point]) -> str:
    made = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        if abs(x1 - x2) < 0.5:
            made.append(f"L{x2:.1f},{y2:.1f}")
        else:
            middle = (y1 + y2) / 2
            made.append(f"C{x1:.1f},{middle:.1f} {x2:.1f},{middle:.1f} {x2:.1f},{y2:.1f}")
    return " ".join(made)


def _cornered(points: list[Point]) -> str:
    """Straight pieces with rounded corners."""
    made = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        near, far = _toward(at, before), _toward(at, after)
        made.append(f"L{near[0]:.1f},{near[1]:.1f} Q{at[0]:.1f},{at[1]:.1f} {far[0]:.1f},{far[1]:.1f}")
    return " ".join([*made, f"L{points[-1][0]:.1f},{points[-1][1]:.1f}"])


def _toward(start: Point, end: Point) -> Point:
    """A corner's radius away from `start` on the way to `end`, half-way at most."""
    length = abs(end[0] - start[0]) + abs(end[1] - start[1])
    share = min(CORNER / length, 0.5) if length else 0.0
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _label(way: Way, x: float, y: float) -> Iterator[str]:
    if way.label_at is None:
        return
    middle, at = way.label_at[0] + x, way.label_at[1] + y
    width, height = label_width(way.line.label) - 4, LABEL_HEIGHT - 4
    yield _rect(middle - width / 2, at - height / 2, width, height, 4, 'fill="#ffffff" fill-opacity="0.92"')
    yield _text(way.line.label, middle, at + 4, LABEL_SIZE, 'text-anchor="middle"', "#2d3748")


def _rect(x: float, y: float, width: float, height: float, round_: float, rest: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_:.1f}" {rest}/>'
    )


def _text(text: str, x: float, y: float, size: float, rest: str, colour: str = "#1a202c") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" {rest}>{escaped(text)}</text>'


def escaped(text: str) -> str:
    """`text` for XML; signs that XML cannot hold are replaced."""
    return escape(allowed(text))


def allowed(text: str) -> str:
    """`text` without the signs that neither XML nor HTML can hold."""
    return "".join(sign if _is_allowed(sign) else "\ufffd" for sign in text)


def _is_allowed(sign: str) -> bool:
    return sign in "\t\n" or (sign >= " " and not "\ud800" <= sign <= "\udfff" and sign not in "\ufffe\uffff")

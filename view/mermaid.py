"""A picture as Mermaid text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .shapes import Box, Group, Shape, Style

ARROWS: dict[Style, str] = {
    "flow": "-->",
    "planned": "-.->",
    "again": "-.->",
    "delegates": "<-.->",
    "hears": "<-.->",
}
LINE_STYLES: dict[Style, str] = {
    "again": "stroke:#2f855a",
    "delegates": "stroke:#6b46c1,stroke-width:2px",
    "hears": "stroke:#b83280,stroke-width:2px",
}
CLASSES = """\
    classDef unit fill:#ffffff,stroke:#4a5568,color:#1a202c
    classDef step fill:#f7fafc,stroke:#718096,color:#1a202c,stroke-dasharray:4 3
    classDef hub fill:#fff5f7,stroke:#b83280,color:#1a202c
    classDef mark fill:#1a202c,stroke:#1a202c,color:#1a202c
    classDef group fill:#f7fafc,stroke:#a0aec0,color:#1a202c"""
FRAMES = {"unit": '["{}"]', "step": '(["{}"])', "hub": '{{{{"{}"}}}}'}


@dataclass
class _Names:
    """Short ids for the shapes, since keys may hold what Mermaid cannot read; and the styled lines."""

    by_shape: dict[int, str] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    styles: list[Style] = field(default_factory=list)

    def of(self, shape: Shape) -> str:
        return self.by_shape.setdefault(id(shape), f"n{len(self.by_shape)}")


def mermaid_of(picture: Group) -> str:
    """The picture as a flowchart from top to bottom."""
    names = _Names()
    body = [*_shapes(picture, names, 1), *_lines(picture, names, 1)]
    groups = [f"    class {','.join(names.groups)} group"] if names.groups else []
    return "\n".join(["flowchart TB", *body, CLASSES, *groups, *_line_styles(names)]) + "\n"


def _shapes(group: Group, names: _Names, depth: int) -> Iterator[str]:
    pad = "    " * depth
    for shape in group.shapes:
        name = names.of(shape)
        if isinstance(shape, Box):
            yield f"{pad}{name}{_frame(shape)}"
            continue
        names.groups.append(name)
        repeats = [f"↺ {line.label}" for line in group.lines if line.source == line.target == shape.key]
        yield f'{pad}subgraph {name}["{_group_label(shape, repeats)}"]'
        yield f"{pad}    direction TB"
        yield from _shapes(shape, names, depth + 1)
        yield from _lines(shape, names, depth + 1)
        yield f"{pad}end"


def _lines(group: Group, names: _Names, depth: int) -> Iterator[str]:
    shapes = {shape.key: shape for shape in group.shapes}
    for line in group.lines:
        source, target = shapes[line.source], shapes[line.target]
        if source is target and isinstance(source, Group):
            continue  # no Mermaid line leads from a group to itself; the group's own label says it
        names.styles.append(line.style)
        label = f'|"{escaped(line.label)}"|' if line.label else ""
        yield f"{'    ' * depth}{names.of(source)} {ARROWS[line.style]}{label} {names.of(target)}"


def _frame(box: Box) -> str:
    if box.kind in ("start", "end"):
        return f"{'((( )))' if box.kind == 'end' else '(( ))'}:::mark"
    notes = "".join(f"<br/><small>{escaped(note)}</small>" for note in box.notes)
    return f"{FRAMES[box.kind].format(f'<b>{escaped(box.title)}</b>{notes}')}:::{box.kind}"


def _group_label(group: Group, repeats: list[str]) -> str:
    title = f"<b>{escaped(group.title)}</b> " if group.title else ""
    return f"{title}<i>{escaped(' · '.join((group.caption, *group.notes, *repeats)))}</i>"


def _line_styles(names: _Names) -> Iterator[str]:
    for style, drawn in LINE_STYLES.items():
        numbers = [str(number) for number, used in enumerate(names.styles) if used == style]
        if numbers:
            yield f"    linkStyle {','.join(numbers)} {drawn}"


def escaped(text: str) -> str:
    """`text` on one line as Mermaid shows it character for character inside quotes.

    >>> escaped('a "b" <c>')
    'a #34;b#34; #60;c#62;'
    """
    return re.sub(r'["#&<>`\\{}\[\]|;*]', lambda sign: f"#{ord(sign[0])};", " ".join(text.split()))

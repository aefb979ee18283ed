"""The look of a picture: colours by kind, strokes by style of line."""

from __future__ import annotations

from .shapes import Style

FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'Microsoft YaHei', sans-serif"

PLAIN = ("#718096", "#f7fafc")
COLOURS = {
    "unit": ("#4a5568", "#ffffff"),
    "step": ("#718096", "#ffffff"),
    "hub": ("#b83280", "#fff5f7"),
    "router": ("#b7600b", "#fffaf3"),
    "dag": ("#2b6cb0", "#f2f8fd"),
    "parallel": ("#2c7a7b", "#f0fafa"),
    "map": ("#2c7a7b", "#f0fafa"),
    "loop": ("#2f855a", "#f1faf4"),
    "reflexion": ("#2f855a", "#f1faf4"),
    "delegation": ("#6b46c1", "#f8f5ff"),
    "broadcast": ("#b83280", "#fff5f9"),
}
"""Border and ground by the kind of a box or flow."""

STATUS_COLOURS = {
    "waiting": ("#5f6b7a", "#ffffff"),
    "running": ("#1d6fd1", "#e3f0ff"),
    "done": ("#2a7d4f", "#e8f6ee"),
    "partial": ("#a15c07", "#fff6e6"),
    "failed": ("#c22f2f", "#fdeaea"),
    "paused": ("#a15c07", "#fff3d6"),
    "skipped": ("#7a8594", "#f5f6f8"),
    "cancelled": ("#6b5b7a", "#f3eff7"),
}
"""Border and ground by how a part stands; white text is legible on the first, dark text on the second."""

_LINES: dict[Style, tuple[str, str]] = {
    "flow": ("#4a5568", ""),
    "planned": ("#2b6cb0", "6 4"),
    "again": ("#2f855a", "6 4"),
    "delegates": ("#6b46c1", "9 4"),
    "hears": ("#b83280", "2 4"),
}
BOTH_WAYS: tuple[Style, ...] = ("delegates", "hears")


def _stroke(style: Style) -> str:
    colour, dashes = _LINES[style]
    wide = 2 if style in BOTH_WAYS else 1.5
    drawn = f'class="{style}" stroke="{colour}" stroke-width="{wide}"'
    drawn += f' stroke-dasharray="{dashes}"' if dashes else ""
    drawn += f' marker-start="url(#plait-{style})"' if style in BOTH_WAYS else ""
    return f'{drawn} marker-end="url(#plait-{style})"'


def _marker(style: Style) -> str:
    return (
        f'<marker id="plait-{style}" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" '
        f'markerWidth="10" markerHeight="10" orient="auto-start-reverse">'
        f'<path d="M0,1 L9,5 L0,9 z" fill="{_LINES[style][0]}"/></marker>'
    )


STROKES: dict[Style, str] = {style: _stroke(style) for style in _LINES}
MARKERS = f"<defs>{''.join(map(_marker, _LINES))}</defs>"

"""Drawing: a picture of a part, as Mermaid, as SVG, and as what a notebook shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ..graphs.step import as_part
from .mermaid import mermaid_of
from .shapes import Group, whole
from .svg import svg_of


@dataclass(frozen=True)
class Drawing:
    """A unit or flow as a picture; a notebook shows it when it is a cell's last value.

    `mermaid` and `svg` are texts; the same part always gives the same ones.
    """

    part: Any

    @cached_property
    def mermaid(self) -> str:
        return mermaid_of(self._picture)

    @cached_property
    def svg(self) -> str:
        return svg_of(self._picture)

    @cached_property
    def _picture(self) -> Group:
        return whole(self.part)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": repr(self)}


def draw(flow: Any, *, format: Literal["mermaid", "svg"] = "mermaid") -> str:
    """A unit, flow or function as Mermaid or SVG text.

    Raises ValueError for another format, DefinitionError for what cannot stand in a flow.
    """
    drawing = Drawing(as_part(flow))
    if format == "mermaid":
        return drawing.mermaid
    if format == "svg":
        return drawing.svg
    raise ValueError(f"format must be 'mermaid' or 'svg', got {format!r}")

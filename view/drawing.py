"""Drawing: a picture of a part, as Mermaid, as SVG, and as what a notebook shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ..graphs.step import as_part
from .live import LiveTree
from .marks import standing
from .mermaid import mermaid_of
from .shapes import Group, whole
from .svg import svg_of
from .words import plain


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

    def svg_at(self, tree: LiveTree) -> str:
        """The SVG with each part in the colour of how it stands in a run."""
        return svg_of(self._picture, standing(self._picture, tree))

    @cached_property
    def _picture(self) -> Group:
        return whole(self.part)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": repr(self)}


def part_bundle(part: Any) -> dict[str, str]:
    """A unit or flow as its picture."""
    return {"image/svg+xml": Drawing(part).svg, "text/plain": plain(part)}


def workflow_bundle(workflow: Any) -> dict[str, str]:
    """A workflow as the picture of its flow."""
    return {"image/svg+xml": Drawing(workflow.bound.flow).svg, "text/plain": plain(workflow)}


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

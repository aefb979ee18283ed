"""Pictures of flows, made here: Mermaid text and SVG, without a web service."""

from .drawing import Drawing, draw

__all__ = ["Drawing", "draw"]

"""Pictures of flows, and what a notebook shows of runs, made here: no web service, no JavaScript."""

from .drawing import Drawing, draw
from .live import LiveTree
from .livenode import LiveNode
from .watch import watch

__all__ = ["Drawing", "LiveNode", "LiveTree", "draw", "watch"]

"""What stands in a flow: what units, steps and flows share.

Units are below flows, yet `unit >> unit` is a flow and a unit compiles like one. These methods
are the one place where a lower layer names a higher one; it is looked up when they are called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Part:
    """Anything that may stand in a flow. `a >> [b, c] >> d` makes a sequence."""

    __slots__ = ()

    def __rshift__(self, other: Any) -> Any:
        return _graphs("sequential").SequentialFlow(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _graphs("sequential").SequentialFlow(other, self)

    def compile(
        self, *, model: Any = None, checkpointer: Any = None, store: Any = None, **options: Any
    ) -> Any:
        """A `CompiledStateGraph` of this part alone: see `plait.graphs.foreign.compile_part`."""
        return _graphs("foreign").compile_part(
            self, model=model, checkpointer=checkpointer, store=store, **options
        )

    def as_node(self, enter: Any, leave: Any, **options: Any) -> Any:
        """A node function for any StateGraph: see `plait.graphs.foreign.as_node`."""
        return _graphs("foreign").as_node(self, enter, leave, **options)

    def draw(self) -> Any:
        """A picture of this part: `.mermaid`, `.svg`, and what a notebook shows. See `plait.view`."""
        return _named("view.drawing").Drawing(self)


def _graphs(module: str) -> Any:
    return _named(f"graphs.{module}")


def _named(module: str) -> Any:
    package = __package__.rpartition(".")[0]
    return import_module(f"{package}.{module}")

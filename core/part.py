"""What stands in a flow: what units, steps and flows share.

Units are below flows, yet `unit >> unit` is a flow and a unit compiles like one. These methods
are where a lower layer names a higher one; it is looked up when they are called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, overload

from typing_extensions import TypeVar

from .control import Finish, Skip
from .display import Displayed, named

if TYPE_CHECKING:
    from .flow import Flow
    from .snapshot import Snapshot

In = TypeVar("In", contravariant=True, default=Any)
Out = TypeVar("Out", covariant=True, default=Any)
T = TypeVar("T")


class Part(Displayed, Generic[In, Out]):
    """Anything that may stand in a flow. `a >> [b, c] >> d` makes a sequence.

    `Out` is the type of what it gives when it runs to its end, and type checkers carry it through `>>`
    (a `Finish`, or a last part that is skipped, may give something else). `In` is what the part before
    must give. Units and functions take anything (a unit shows the model whatever it is, a function finds
    it in the Snapshot), so it says something only where you declare it, as in `Flow[Plan, Report]`: then
    `>>` is checked against it.
    """

    __slots__ = ()

    _display: ClassVar[str] = "drawing:part_bundle"

    @overload
    def __rshift__(self, other: Part[Out, T]) -> Flow[In, T]: ...
    @overload
    def __rshift__(self, other: Callable[[Snapshot], Awaitable[T | Skip | Finish]]) -> Flow[In, T]: ...
    @overload
    def __rshift__(self, other: Callable[[Snapshot], T | Skip | Finish]) -> Flow[In, T]: ...
    @overload
    def __rshift__(self, other: list[Any]) -> Flow[In, dict[str, Any]]: ...
    def __rshift__(self, other: Any) -> Any:
        return _graphs("sequential").SequentialFlow(self, other)

    def __rrshift__(self, other: Callable[[Snapshot], Any] | list[Any]) -> Flow[object, Out]:
        made: Flow[object, Out] = _graphs("sequential").SequentialFlow(other, self)
        return made

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
        return named("view.drawing").Drawing(self)


Answer: TypeAlias = T | Skip | Finish
PartLike: TypeAlias = Part[Any, T] | Callable[["Snapshot"], Answer[T] | Awaitable[Answer[T]]]
"""What may stand where a part may: a part, or a plain function of the Snapshot, sync or async."""


def _graphs(module: str) -> Any:
    return named(f"graphs.{module}")

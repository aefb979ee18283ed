"""Conditions as data: `field("score") >= 8` can be read, compared and exported."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .snapshot import Snapshot

Operator = Literal["==", "!=", "<", "<=", ">", ">="]
_OPERATORS: dict[Operator, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Predicate = Callable[["Snapshot"], bool]
"""What `when=` and `until=` take: a `Comparison`, or a function of the Snapshot."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares one field of the last output with a value. A missing field is never true."""

    name: str
    operator: Operator
    value: Any

    def __call__(self, snapshot: Snapshot) -> bool:
        found = field(self.name).read(snapshot.output)
        return found is not None and bool(_OPERATORS[self.operator](found, self.value))


@dataclass(frozen=True, slots=True, eq=False)
class field:
    """A field of the last output by dotted name; comparing it makes a condition.

    >>> field("score") >= 8
    Comparison(name='score', operator='>=', value=8)
    """

    name: str

    def read(self, output: Any) -> Any:
        """The field's value in `output`, or None when it is not there."""
        for part in self.name.split("."):
            output = output.get(part) if isinstance(output, Mapping) else getattr(output, part, None)
        return output

    def __eq__(self, value: object) -> Comparison:  # type: ignore[override]
        return Comparison(self.name, "==", value)

    def __ne__(self, value: object) -> Comparison:  # type: ignore[override]
        return Comparison(self.name, "!=", value)

    def __lt__(self, value: Any) -> Comparison:
        return Comparison(self.name, "<", value)

    def __le__(self, value: Any) -> Comparison:
        return Comparison(self.name, "<=", value)

    def __gt__(self, value: Any) -> Comparison:
        return Comparison(self.name, ">", value)

    def __ge__(self, value: Any) -> Comparison:
        return Comparison(self.name, ">=", value)

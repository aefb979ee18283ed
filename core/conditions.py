"""Conditions as data: `field("score") >= 8` can be read, compared and exported."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError

from .attributes import MISSING, value_of
from .errors import PlaitError

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
    """Compares one field of the last output with a value, which is read as the field's type where that is
    none of JSON's: a Decimal, a date, an enum. A missing field is never true; null equals null alone and is
    neither above nor below anything. Raises PlaitError for an order that there is not."""

    name: str
    operator: Operator
    value: Any

    def __call__(self, snapshot: Snapshot) -> bool:
        found = field(self.name).found(snapshot.output)
        if found is MISSING or (found is None and self.operator not in ("==", "!=")):
            return False
        held, value = _alike(found, self.value)
        try:
            return bool(_OPERATORS[self.operator](held, value))
        except TypeError as error:
            told = f"`{self.name} {self.operator} {self.value!r:.60}` has no answer for {found!r:.60}"
            raise PlaitError(f"{told}: {error}; compare it with a value of its own type") from error


@dataclass(frozen=True, slots=True, eq=False)
class field:
    """A field of the last output by dotted name; comparing it makes a condition.

    >>> field("score") >= 8
    Comparison(name='score', operator='>=', value=8)
    """

    name: str

    def read(self, output: Any) -> Any:
        """The field's value in `output`, or None when it is not there."""
        found = self.found(output)
        return None if found is MISSING else found

    def found(self, output: Any) -> Any:
        """The field's value in `output`, or MISSING."""
        for part in self.name.split("."):
            output = MISSING if output is MISSING else value_of(output, part)
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


_PLAIN = (str, int, float, list, tuple, set, dict, type(None))


def _alike(found: Any, value: Any) -> tuple[Any, Any]:
    """A field's value and what it is compared with, the latter read as the former's type where it can be."""
    if isinstance(found, Enum) and not isinstance(value, Enum):
        found = found.value
    if isinstance(found, _PLAIN) or isinstance(value, type(found)) or not _is_readable(found, value):
        return found, value
    read = as_type(type(found), value)
    if isinstance(found, datetime) and read is not value and read.tzinfo is None:
        read = read.replace(tzinfo=found.tzinfo)
    return found, read


def _is_readable(found: Any, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str) or (
        is_number if isinstance(found, Decimal) else isinstance(found, datetime) and isinstance(value, date)
    )


def as_type(kind: type, value: Any) -> Any:
    """`value` as that type reads it, or as it is."""
    adapter = _adapter(kind)
    try:
        return value if adapter is None else adapter.validate_python(value)
    except ValueError:
        return value


@lru_cache(maxsize=64)
def _adapter(kind: type) -> TypeAdapter[Any] | None:
    try:
        return TypeAdapter(kind)
    except PydanticSchemaGenerationError:
        return None

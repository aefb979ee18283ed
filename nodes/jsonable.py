"""Any value a tool may return, as JSON data that a model can read, or refused by name."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import numbers
import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    MappingView,
    Sequence,
)
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import ModuleType
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from ..core.errors import PlaitError
from .plain import MAX_DEPTH

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_MAX_INT_BITS = 10_000  # Python refuses to print integers of more than 4300 digits


class Unshowable(PlaitError, TypeError):
    """A tool returned a value that cannot be shown to a model; the message names tool and type."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where in the returned value the converter stands, and in which containers."""

    tool: str
    path: str = ""
    inside: tuple[int, ...] = ()

    def step(self, container: Any, key: object) -> _Spot:
        if len(self.inside) >= MAX_DEPTH:
            raise self.refuse(container, f"it is nested deeper than {MAX_DEPTH}")
        part = f"[{key}]" if isinstance(key, int) else f".{key}"
        return _Spot(self.tool, f"{self.path}{part}", (*self.inside, id(container)))

    def refuse(self, value: Any, why: str) -> Unshowable:
        is_class = isinstance(value, type)
        kind = f"the class {value.__name__}" if is_class else f"a value of type {type(value).__name__}"
        where = f" at {self.path.lstrip('.')}" if self.path else ""
        return Unshowable(
            f"tool {self.tool!r} returned {kind}{where}, which cannot be shown to the model: {why}; "
            f"return text, numbers, lists, dicts, dataclasses or pydantic models"
        )


def to_json_data(value: Any, tool_name: str) -> Any:
    """The value as None, bool, int, float, str, list and dict. Raises `Unshowable`."""
    return _shown(value, _Spot(tool_name))


def json_text(data: Any) -> str:
    """JSON as a model reads it best: characters as they are, no escapes beyond the needed ones."""
    return json.dumps(data, ensure_ascii=False)


def _shown(value: Any, spot: _Spot) -> Any:
    if id(value) in spot.inside:
        raise spot.refuse(value, "it contains itself")
    for kinds, rule in _RULES:
        if isinstance(value, kinds):
            return rule(value, spot)
    if dataclasses.is_dataclass(value):
        return _fields(value, [field.name for field in dataclasses.fields(value)], spot)
    if callable(getattr(value, "tolist", None)):  # arrays, tensors and their scalars
        return _shown(value.tolist(), spot.step(value, "tolist()"))
    return _own_text(value, spot)


def _refused(value: Any, spot: _Spot) -> Any:
    raise spot.refuse(value, "it is code or a stream, not data")


def _same(value: Any, spot: _Spot) -> Any:
    return value


def _enum(value: Enum, spot: _Spot) -> Any:
    return _shown(value.value, spot)


def _text(value: str, spot: _Spot) -> str:
    return str.__str__(value)


def _printed(value: object, spot: _Spot) -> str:
    return str(value)


def _moment(value: date | time, spot: _Spot) -> str:
    return value.isoformat()


def _integer(value: Any, spot: _Spot) -> int:
    number = int(value)
    if number.bit_length() > _MAX_INT_BITS:
        raise spot.refuse(value, f"an integer of {number.bit_length()} bits is too long to print")
    return number


def _real(value: Any, spot: _Spot) -> float | str:
    number = float(value)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _bytes(value: bytes | bytearray | memoryview, spot: _Spot) -> str:
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        raise spot.refuse(value, "its bytes are not UTF-8 text") from None


def _model(value: BaseModel, spot: _Spot) -> Any:
    try:
        dumped = value.model_dump(warnings=False)
    except Exception as error:
        raise spot.refuse(value, f"it cannot be dumped ({error})") from error
    return _shown(dumped, spot)


def _mapping(value: Mapping[Any, Any], spot: _Spot) -> dict[str, Any]:
    named = [(_key(key, spot), item) for key, item in value.items()]
    return {name: _shown(item, spot.step(value, name)) for name, item in named}


def _key(key: Any, spot: _Spot) -> str:
    shown = _shown(key, spot)
    return shown if isinstance(shown, str) else json_text(shown)


def _tuple(value: tuple[Any, ...], spot: _Spot) -> Any:
    names = getattr(value, "_fields", None)
    return _listed(value, spot) if names is None else _fields(value, names, spot)


def _fields(value: Any, names: Sequence[str], spot: _Spot) -> dict[str, Any]:
    return {name: _shown(getattr(value, name), spot.step(value, name)) for name in names}


def _listed(value: Any, spot: _Spot) -> list[Any]:
    return [_shown(item, spot.step(value, index)) for index, item in enumerate(value)]


def _set(value: AbstractSet[Any], spot: _Spot) -> list[Any]:
    """In sorted order; members without an order go by their text, so that every process shows one order."""
    members = _sorted(value)
    shown = [_shown(item, spot.step(value, "(member)")) for item in (value if members is None else members)]
    return sorted(shown, key=json_text) if members is None else shown


def _sorted(members: AbstractSet[Any]) -> list[Any] | None:
    if any(isinstance(item, AbstractSet) for item in members):
        return None  # sets compare as subsets, which is no order
    try:
        return sorted(members)
    except TypeError:
        return None


def _own_text(value: Any, spot: _Spot) -> Any:
    kind: Any = type(value)
    if inspect.isroutine(value):
        return _refused(value, spot)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        raise spot.refuse(value, "it has no text form")
    try:
        text = str(value)
    except Exception as error:
        raise spot.refuse(value, f"its text form fails ({error})") from error
    if _ADDRESS.search(text):
        raise spot.refuse(value, "its text form is a memory address")
    return text


_RULES: tuple[tuple[Any, Callable[[Any, _Spot], Any]], ...] = (
    ((type(None), bool), _same),
    (Enum, _enum),
    (str, _text),
    ((Decimal, Fraction, UUID, PurePath), _printed),
    ((date, datetime, time), _moment),
    ((int, numbers.Integral), _integer),
    ((float, numbers.Real), _real),
    ((bytes, bytearray, memoryview), _bytes),
    ((type, ModuleType, Iterator, AsyncIterator, Awaitable), _refused),
    (BaseModel, _model),
    (Mapping, _mapping),
    (tuple, _tuple),
    (MappingView, _listed),
    (AbstractSet, _set),
    (Sequence, _listed),
)

"""Out of plain data: the walk that `decode` makes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from .codec_classes import class_name, find_class, with_arguments
from .codec_kinds import BY_NAME, Kind
from .codec_records import MAPS, NAMES, Parts, put_together
from .codec_types import TYPE, VALUE, Changed, Registry, each_entry, each_item


@dataclass(frozen=True, slots=True)
class Reading:
    """What a walk goes by: where to find classes, and whether data is held against them."""

    registry: Registry
    checked: bool = True


def read(plain: Any, reading: Reading) -> Any:
    """The value again, the very same object when it is plain all through. Raises Changed."""
    cls = type(plain)
    if cls is list:
        return each_item(plain, read, reading)
    if cls is not dict:
        return plain
    if TYPE in plain:
        return _read_typed(plain, reading)
    return each_entry(plain, plain, read, reading)


def _read_typed(plain: dict[str, Any], reading: Reading) -> Any:
    name = plain[TYPE]
    if not isinstance(name, str) or (name not in BY_NAME and ":" not in name):
        raise Changed(str(name), "a kind of value that this version does not know")
    if name in BY_NAME:
        return _load(BY_NAME[name], read(plain.get(VALUE), reading))
    cls = find_class(name, reading.registry)
    if issubclass(cls, enum.Enum):
        return _member(cls, read(plain.get(VALUE), reading))
    cls = with_arguments(cls, plain.get("$arguments", ()), reading.registry)
    return put_together(cls, _parts(cls, plain, reading), checked=reading.checked)


def _load(kind: Kind, inner: Any) -> Any:
    try:
        if not isinstance(inner, kind.shape):
            raise TypeError(f"it is never written as {type(inner).__name__}")
        return kind.load(inner)
    except Exception as error:  # each type has its own ways of not reading its data
        raise Changed(kind.name, f"which its data does not give now ({error})") from error


def _member(cls: type[enum.Enum], stored: Any) -> enum.Enum:
    if isinstance(stored, str) and stored in cls.__members__:
        return cls.__members__[stored]
    if isinstance(stored, int) and issubclass(cls, enum.Flag):
        try:
            member = cls(stored)
        except ValueError as error:
            raise Changed(class_name(cls), f"which does not take these flags now ({error})") from error
        if member.value == stored:
            return member
    raise Changed(class_name(cls), f"which has no member {stored!r} now")


def _parts(cls: type, plain: dict[str, Any], reading: Reading) -> Parts:
    found: dict[str, Any] = {"fields": {}}
    for label, where in (("fields", VALUE), *((label, f"${label}") for label in MAPS)):
        if where in plain:
            found[label] = _entries(cls, plain[where], reading)
    found.update({label: tuple(plain[f"${label}"]) for label in NAMES if f"${label}" in plain})
    return Parts(**found)


def _entries(cls: type, entries: Any, reading: Reading) -> dict[str, Any]:
    if not isinstance(entries, dict):
        raise Changed(class_name(cls), f"but its data is {type(entries).__name__}, not fields by name")
    return dict(each_entry(entries, entries, read, reading))

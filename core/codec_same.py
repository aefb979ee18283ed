"""Sameness: equal, and of the same type, all the way down. NaN is the same as NaN; -0.0 is not 0.0."""

from __future__ import annotations

import enum
import math
from typing import Any

from .codec_classes import kind_of
from .codec_kinds import BY_TYPE
from .codec_records import MAPS, take_apart

_Entries = dict[Any, tuple[Any, Any]]
_HELD = ("fields", *MAPS)


def same(left: Any, right: Any) -> bool:
    """Whether two values that can be kept are the same in type and content, order only in sequences."""
    if left is right:
        return True
    cls = type(left)
    if cls is not type(right):
        return False
    if cls is str or cls is int:
        return bool(left == right)
    if cls is float:
        return _same_float(left, right)
    if cls is list:
        return len(left) == len(right) and all(map(same, left, right))
    if cls is dict:
        return _same_dict(left, right)
    return _same_typed(cls, left, right)


def _same_float(left: float, right: float) -> bool:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return left == right and math.copysign(1, left) == math.copysign(1, right)


def _same_typed(cls: type, left: Any, right: Any) -> bool:
    kind = BY_TYPE.get(cls)
    if kind is not None and kind.unordered:
        return _same_entries({item: (item, None) for item in left}, {item: (item, None) for item in right})
    if kind is not None:
        return same(kind.dump(left), kind.dump(right))
    if isinstance(left, enum.Enum):
        return bool(left.name == right.name and left.value == right.value)
    if kind_of(cls):
        return _same_parts(left, right)
    return bool(left == right)


def _same_parts(left: Any, right: Any) -> bool:
    ours, theirs = take_apart(left), take_apart(right)
    if (ours.named, ours.absent) != (theirs.named, theirs.absent):
        return False
    return same([getattr(ours, label) for label in _HELD], [getattr(theirs, label) for label in _HELD])


def _same_dict(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if set(map(type, left)) == {str}:
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    return _same_entries({key: (key, left[key]) for key in left}, {key: (key, right[key]) for key in right})


def _same_entries(left: _Entries, right: _Entries) -> bool:
    """Entries match by key; what finds no equal key (NaN, identity) is tried against each that is left."""
    if len(left) != len(right):
        return False
    found = [key for key, pair in left.items() if key in right and _same_pair(pair, right[key])]
    if len(found) == len(left):
        return True
    matched = dict.fromkeys(found)
    others = [pair for key, pair in right.items() if key not in matched]
    return all(_taken(pair, others) for key, pair in left.items() if key not in matched)


def _same_pair(left: tuple[Any, Any], right: tuple[Any, Any]) -> bool:
    return same(left[0], right[0]) and same(left[1], right[1])


def _taken(pair: tuple[Any, Any], others: list[tuple[Any, Any]]) -> bool:
    for index, other in enumerate(others):
        if _same_pair(pair, other):
            del others[index]
            return True
    return False

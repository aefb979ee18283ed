"""Into plain data: the walk that `encode` makes."""

from __future__ import annotations

import enum
import functools
import json
import math
import types
from dataclasses import replace
from typing import Any, cast

from .codec_classes import arguments_of, class_name, kind_of, require_findable
from .codec_kinds import BY_TYPE
from .codec_records import MAPS, NAMES, loose_names, take_apart
from .codec_types import DEPTH, TYPE, VALUE, Plain, Refused, Registry, Stopped, each_entry, each_item, segment

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_TEXT = frozenset({str})


def write(value: Any, registry: Registry, depth: int = 0) -> Plain:
    """`value` as plain data, the very same object when it is plain already. Raises Refused."""
    cls = type(value)
    if cls is str:
        return value if value.isascii() else _text(value)
    if value is None or cls is bool:
        return cast(Plain, value)
    if cls is int and _SMALLEST <= value <= _LARGEST:
        return cast(Plain, value)
    if cls is float and math.isfinite(value):
        return cast(Plain, value)
    if depth >= DEPTH:
        raise Refused(cls, f"it is nested deeper than {DEPTH} levels")
    if cls is list:
        return each_item(value, write, registry, depth + 1)
    if cls is dict:
        return _write_dict(value, registry, depth)
    return _write_typed(value, registry, depth)


def _text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(str, "its text holds a lone surrogate, which is no character") from None
    return text


def _write_dict(mapping: dict[Any, Any], registry: Registry, depth: int) -> Plain:
    if TYPE in mapping or not _TEXT.issuperset(map(type, mapping)):
        return {TYPE: "dict", VALUE: _write_pairs(mapping, registry, depth + 3)}
    return _write_entries(mapping, mapping, registry, depth + 1)


def _write_entries(
    entries: dict[str, Any], holder: object, registry: Registry, depth: int
) -> dict[str, Plain]:
    for name in entries:
        if not name.isascii():
            _text(name)
    return each_entry(entries, holder, write, registry, depth)


def _write_pairs(mapping: dict[Any, Any], registry: Registry, depth: int) -> list[Plain]:
    """A dict whose keys JSON cannot keep, as a list of [key, value]."""
    pairs: list[Plain] = []
    for key, value in mapping.items():
        try:
            pairs.append([write(key, registry, depth), write(value, registry, depth)])
        except Stopped as fault:
            fault.passed(mapping, segment(key))
            raise
    return pairs


def _write_typed(value: Any, registry: Registry, depth: int) -> Plain:
    cls = type(value)
    kind = BY_TYPE.get(cls)
    if kind is not None:
        inner = write(kind.dump(value), registry, depth + 1)
        return {TYPE: kind.name, VALUE: _settled(inner) if kind.unordered else inner}
    match kind_of(cls):
        case "enum":
            return _write_enum(value, registry)
        case "model" | "dataclass" | "namedtuple":
            return _write_record(value, registry, depth + 2)
    raise Refused(cls, _why_not(value))


def _settled(items: Plain) -> Plain:
    written = functools.partial(json.dumps, sort_keys=True)
    return sorted(cast(list[Plain], items), key=written)


def _write_enum(member: enum.Enum, registry: Registry) -> Plain:
    """By name; a combination of flags, which is no declared member, by its number."""
    cls = type(member)
    require_findable(cls, registry)
    if cls.__members__.get(member.name) is member:
        return {TYPE: class_name(cls), VALUE: _text(member.name)}
    if not isinstance(member, enum.Flag):
        raise Refused(cls, "it is no declared member of its enum")
    return {TYPE: class_name(cls), VALUE: write(member.value, registry)}


def _write_record(value: Any, registry: Registry, depth: int) -> Plain:
    cls = type(value)
    require_findable(cls, registry)
    parts = take_apart(value)
    parts = replace(parts, loose=loose_names(cls, parts))
    plain: dict[str, Plain] = {
        TYPE: class_name(cls),
        VALUE: _write_entries(parts.fields, value, registry, depth),
    }
    for label in MAPS:
        entries = getattr(parts, label)
        if entries is not None:
            plain[f"${label}"] = _write_entries(entries, value, registry, depth)
    for label in NAMES:
        names = getattr(parts, label)
        if names is not None:
            plain[f"${label}"] = [_text(name) for name in names]
    if arguments := arguments_of(cls, registry):
        plain["$arguments"] = arguments
    return plain


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)
_ONCE = (types.GeneratorType, types.AsyncGeneratorType, types.CoroutineType)


def _why_not(value: Any) -> str:
    if isinstance(value, (type, types.ModuleType, *_FUNCTIONS)):
        return "code is no data; keep its name instead"
    if isinstance(value, _ONCE):
        return "it can be used up only once; keep what it yields, for example as a list"
    for cls in (str, list, *BY_TYPE):
        if isinstance(value, cls):
            return f"it is {cls.__name__} with a behaviour of its own; convert it to {cls.__name__}"
    return "make it plain data, a standard value, a pydantic model, dataclass, named tuple or enum"

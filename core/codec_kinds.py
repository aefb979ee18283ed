"""The standard types that can be kept: for each a name, and a way into simpler values and back."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import pathlib
import re
import uuid
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pydantic
from pydantic_core import TzInfo

from .codec_types import Refused


@dataclass(frozen=True, slots=True)
class Kind:
    """One type: `dump` gives simpler values that are encoded in turn, `load` takes them back.

    `shape` is what `dump` gives; an `unordered` kind is written in a settled order.
    """

    name: str
    cls: type
    dump: Callable[[Any], Any]
    load: Callable[[Any], Any]
    shape: type | tuple[type, ...] = str
    unordered: bool = False


def _from_hex(text: str) -> int:
    return int(text, 16)


def _to_text(data: bytes | bytearray) -> str:
    return base64.b64encode(data).decode("ascii")


def _to_bytearray(text: str) -> bytearray:
    return bytearray(base64.b64decode(text, validate=True))


def _to_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _zone_parts(zone: dt.tzinfo | None) -> list[Any] | None:
    if zone is None:
        return None
    if type(zone) is ZoneInfo and zone.key is not None:
        return ["zone", zone.key]
    if type(zone) is TzInfo:
        return ["offset", zone.utcoffset(None)]
    if type(zone) is dt.timezone:
        offset, name = zone.utcoffset(None), zone.tzname(None)
        return ["fixed", offset] if name == dt.timezone(offset).tzname(None) else ["fixed", offset, name]
    raise Refused(type(zone), "only zoneinfo zones with a key and fixed offsets can be named again; use one")


def _zone(parts: list[Any] | None) -> dt.tzinfo | None:
    match parts:
        case None:
            return None
        case ["zone", str(key)]:
            return ZoneInfo(key)
        case ["offset", dt.timedelta() as offset]:
            return TzInfo(offset.total_seconds())
        case ["fixed", dt.timedelta() as offset, *name]:
            return dt.timezone(offset, *name)
    raise ValueError(f"{parts!r} is no time zone")


def _moment_parts(moment: dt.datetime | dt.time) -> Any:
    """ISO text where that says it all, else the text without zone, the fold and the zone."""
    zone = _zone_parts(moment.tzinfo)
    if moment.fold == 0 and (zone is None or (zone[0] == "fixed" and len(zone) == 2)):
        return moment.isoformat()
    return [moment.replace(tzinfo=None, fold=0).isoformat(), moment.fold, zone]


def _datetime(parts: Any) -> dt.datetime:
    if isinstance(parts, str):
        return dt.datetime.fromisoformat(parts)
    text, fold, zone = parts
    return dt.datetime.fromisoformat(text).replace(tzinfo=_zone(zone), fold=fold)


def _time(parts: Any) -> dt.time:
    if isinstance(parts, str):
        return dt.time.fromisoformat(parts)
    text, fold, zone = parts
    return dt.time.fromisoformat(text).replace(tzinfo=_zone(zone), fold=fold)


def _timedelta_parts(span: dt.timedelta) -> list[int]:
    return [span.days, span.seconds, span.microseconds]


def _timedelta(parts: list[int]) -> dt.timedelta:
    return dt.timedelta(*parts)


def _fraction_parts(number: Fraction) -> list[int]:
    return [number.numerator, number.denominator]


def _fraction(parts: list[int]) -> Fraction:
    return Fraction(*parts)


def _complex_parts(number: complex) -> list[float]:
    return [number.real, number.imag]


def _complex(parts: list[float]) -> complex:
    return complex(*parts)


def _pattern_parts(pattern: re.Pattern[Any]) -> list[Any]:
    return [pattern.pattern, pattern.flags]


def _pattern(parts: list[Any]) -> re.Pattern[Any]:
    text, flags = parts
    return re.compile(text, flags)


def _range_parts(span: range) -> list[int]:
    return [span.start, span.stop, span.step]


def _range(parts: list[int]) -> range:
    return range(*parts)


def _deque_parts(items: deque[Any]) -> list[Any]:
    return [list(items), items.maxlen]


def _deque(parts: list[Any]) -> deque[Any]:
    items, maxlen = parts
    return deque(items, maxlen)


def _written(*types: type) -> list[Kind]:
    """Types whose `str` says everything and whose constructor reads it."""
    return [Kind(cls.__name__, cls, str, cls) for cls in types]


_PATHS = (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
_URLS = (
    *(pydantic.AnyUrl, pydantic.AnyHttpUrl, pydantic.HttpUrl, pydantic.FileUrl, pydantic.FtpUrl),
    *(pydantic.WebsocketUrl, pydantic.AnyWebsocketUrl, pydantic.PostgresDsn, pydantic.RedisDsn),
)
_ADDRESSES = (
    *(ipaddress.IPv4Address, ipaddress.IPv4Network, ipaddress.IPv4Interface),
    *(ipaddress.IPv6Address, ipaddress.IPv6Network, ipaddress.IPv6Interface),
)

_ALL = (
    Kind("int", int, hex, _from_hex),
    Kind("float", float, str, float),
    Kind("complex", complex, _complex_parts, _complex, list),
    Kind("Decimal", Decimal, str, Decimal),
    Kind("Fraction", Fraction, _fraction_parts, _fraction, list),
    Kind("ByteSize", pydantic.ByteSize, int, pydantic.ByteSize, int),
    Kind("bytes", bytes, _to_text, _to_bytes),
    Kind("bytearray", bytearray, _to_text, _to_bytearray),
    Kind("datetime", dt.datetime, _moment_parts, _datetime, (str, list)),
    Kind("date", dt.date, dt.date.isoformat, dt.date.fromisoformat),
    Kind("time", dt.time, _moment_parts, _time, (str, list)),
    Kind("timedelta", dt.timedelta, _timedelta_parts, _timedelta, list),
    Kind("UUID", uuid.UUID, str, uuid.UUID),
    Kind("Pattern", re.Pattern, _pattern_parts, _pattern, list),
    Kind("range", range, _range_parts, _range, list),
    Kind("tuple", tuple, list, tuple, list),
    Kind("set", set, list, set, list, unordered=True),
    Kind("frozenset", frozenset, list, frozenset, list, unordered=True),
    Kind("deque", deque, _deque_parts, _deque, list),
    Kind("OrderedDict", OrderedDict, dict, OrderedDict, dict),
    Kind("Counter", Counter, dict, Counter, dict),
    Kind("dict", dict, dict.items, dict, list),  # one that JSON would not keep as it is
    *_written(*_PATHS, *_URLS, *_ADDRESSES),
)

BY_TYPE: dict[type, Kind] = {kind.cls: kind for kind in _ALL}
BY_NAME: dict[str, Kind] = {kind.name: kind for kind in _ALL}

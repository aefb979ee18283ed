"""Values across a checkpoint: any supported Python value as plain data, and back unchanged, or an error.

Plain data is what both strict msgpack and JSON keep exactly. Anything else becomes a dict with "$type",
the name of a standard kind or `module:qualname` of a class, and "$value". No pickle, and no class is
called: no `__init__`, validator or `__post_init__` runs on the way back. `encode` reads a typed value
back before it answers, so what cannot come back is refused when it is written. Parts that are plain
already are passed on as they are, not copied: whoever changes a value later copies it first.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from .codec_classes import class_name, registry_of
from .codec_read import Reading, read
from .codec_same import same
from .codec_types import Changed, Plain, Refused, Registry
from .codec_write import write
from .errors import ClassChanged, ValueRefused

__all__ = ["Plain", "Registry", "class_name", "decode", "encode", "registry_of", "same"]

_NO_CLASSES: Registry = MappingProxyType({})


def encode(value: Any, key: str, registry: Registry | None = None) -> Plain:
    """`value` as plain data. `registry` (see `registry_of`) holds the classes of the workflow's definition.

    Raises ValueRefused, with the address of the culprit below `key`, when it would not come back the same.
    """
    known = _NO_CLASSES if registry is None else registry
    try:
        plain = write(value, known)
        if plain is not value:
            _prove(value, plain, known)
    except Refused as fault:
        why = "it contains itself" if fault.holds_itself() else fault.why
        raise ValueRefused(fault.where(key), fault.subject, why) from fault.__cause__
    except RecursionError as error:
        raise ValueRefused(key, type(value), "it is nested too deeply") from error
    return plain


def decode(plain: Plain, key: str, registry: Registry | None = None) -> Any:
    """The value that `encode` wrote.

    Raises ClassChanged when a class is missing, or when the data does not fit the class of today.
    """
    try:
        return read(plain, Reading(_NO_CLASSES if registry is None else registry))
    except Changed as fault:
        raise ClassChanged(fault.where(key), fault.name, fault.why) from fault.__cause__


def _prove(value: Any, plain: Plain, registry: Registry) -> None:
    try:
        back = read(plain, Reading(registry, checked=False))
    except Changed as fault:
        why = f"it could not be read back: stored as {fault.name}, {fault.why}"
        raise Refused(type(value), why, fault.trail) from fault
    if not same(value, back):
        raise Refused(type(value), "it would come back different")

"""A value beside its plain form, so that it is encoded once and decoded when first read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .codec import decode, encode

Types = Mapping[str, type]
"""Classes by `module:qualname` that belong to a definition (see `codec.registry_of`)."""

_UNREAD = object()


class Stored:
    """`plain` crosses checkpoints; `value` is decoded on first use. Raises ClassChanged then."""

    __slots__ = ("_key", "_types", "_value", "plain")

    def __init__(self, plain: Any, key: str, types: Types | None = None, value: Any = _UNREAD) -> None:
        self.plain = plain
        self._key = key
        self._types = types
        self._value = value

    @classmethod
    def of(cls, value: Any, key: str, types: Types | None = None) -> Stored:
        """Encode `value`. Raises ValueRefused when it would not come back unchanged."""
        return cls(encode(value, key, types), key, types, value)

    @property
    def value(self) -> Any:
        if self._value is _UNREAD:
            self._value = decode(self.plain, self._key, self._types)
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stored) and self.plain == other.plain

    def __hash__(self) -> int:
        return hash(repr(self.plain))

    def __repr__(self) -> str:
        return f"Stored({self.plain!r})"


NOTHING = Stored(None, "", None, None)

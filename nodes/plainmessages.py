"""Messages that come as plain JSON: from a server's clients, and to reducers when a server reads a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, convert_to_messages
from pydantic import TypeAdapter, ValidationError


def as_messages(given: Sequence[Any]) -> list[BaseMessage]:
    """The same as messages; a message that was written out keeps its usage and its broken calls."""
    return [one if isinstance(one, BaseMessage) else _read(one) for one in given]


def _read(given: Any) -> BaseMessage:
    if isinstance(given, Mapping) and "type" in given:
        with suppress(ValidationError):  # it may be in another form
            message: BaseMessage = _written().validate_python(dict(given))
            return message
    return convert_to_messages([given])[0]


@cache
def _written() -> TypeAdapter[Any]:
    return TypeAdapter(AnyMessage)

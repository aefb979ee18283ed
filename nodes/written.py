"""Calls that a model wrote into its text instead of making them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import Any

from .arguments import loads
from .plain import plain

_TAGGED = re.compile(r"(?s)<tool_call>(.*?)(?:</tool_call>|\Z)")
_FENCED = re.compile(r"(?s)```(?:json|tool_call)?[ \t]*\r?\n(.*?)```")


def lift_text_calls(text: str, names: Container[str]) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Name and arguments of each call written in `<tool_call>` tags, in a json fence, or as the whole text.

    Only calls of a known name whose `arguments` are an object count; other text gives an empty tuple.
    """
    pieces = _TAGGED.findall(text) or _FENCED.findall(text) or [text]
    return tuple(call for piece in pieces for call in _calls(piece, names))


def _calls(piece: str, names: Container[str]) -> Iterable[tuple[str, dict[str, Any]]]:
    try:
        value = loads(piece)
    except (ValueError, RecursionError):
        return
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict) and isinstance(item.get("name"), str) and item["name"] in names:
            copy = plain(item.get("arguments"))
            if isinstance(copy.value, dict) and not copy.faults:
                yield item["name"], copy.value

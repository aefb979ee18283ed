"""The arguments of a call: parsed, mended where that is safe, or refused with a reason."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .plain import MAX_DEPTH, clean_text, plain

QUOTE = 200
"""How many characters of unreadable arguments an error shows."""

_LONGEST_LITERAL = 20_000
_STRING_OR_COMMA = re.compile(r'(?s)("(?:\\.|[^"\\])*(?:"|\\?\Z))|,(?=\s*[}\]])')
_ODD_ESCAPE = re.compile(r"""\\(?![\\'"abfnrtvxuUN0-7\n])""")
_KINDS = {list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments, or `error`: why the call cannot run. `repaired`: what was written had to be mended."""

    value: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    repaired: bool = False


def read_arguments(given: Any) -> Arguments:
    """Arguments from JSON text or from a value already parsed; nothing, blank text and `null` mean none."""
    try:
        parsed, mended = _from_text(given) if isinstance(given, str) else (given, False)
    except RecursionError:
        return Arguments(error=f"nested deeper than {MAX_DEPTH}")
    except ValueError as error:
        return Arguments(error=f"arguments were not valid JSON ({_why(error)}): {_quoted(given)}")
    if parsed is None:
        return Arguments()
    if not isinstance(parsed, dict):
        kind = _KINDS.get(type(parsed), f"a {type(parsed).__name__}")
        return Arguments(error=f"arguments were not a JSON object but {kind}: {_quoted(given)}")
    copy = plain(parsed)
    if copy.faults:
        return Arguments(error=copy.faults[0], repaired=copy.repaired)
    return Arguments(copy.value, repaired=mended or copy.repaired)


def loads(text: str) -> Any:
    """JSON, with raw line breaks allowed inside strings. Raises ValueError, or RecursionError."""
    return json.loads(text, strict=False, parse_int=_integer)


def _from_text(text: str) -> tuple[Any, bool]:
    if not text.strip():
        return None, False
    try:
        value = loads(text)
    except ValueError as error:
        return _mended(text, error), True
    return _unwrapped(value) if isinstance(value, str) else (value, False)


def _unwrapped(text: str) -> tuple[Any, bool]:
    """JSON encoded twice: the text holds the object. Other text stays text."""
    try:
        inner = loads(text) if text.strip() else None
    except ValueError:
        return text, False
    return (inner, True) if inner is None or isinstance(inner, dict) else (text, False)


def _mended(text: str, error: ValueError) -> dict[str, Any]:
    for mend in _MENDS:
        try:
            value = mend(text)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    raise error


def _without_trailing_commas(text: str) -> Any:
    return loads(_STRING_OR_COMMA.sub(_keep_string, text))


def _keep_string(match: re.Match[str]) -> str:
    return match[1] or ""


def _python_literal(text: str) -> Any:
    """A Python-style dict. Data only: names, calls and operators are refused by `literal_eval` itself."""
    if len(text) > _LONGEST_LITERAL or text.count("{") + text.count("[") + text.count("(") > 10 * MAX_DEPTH:
        raise ValueError("too large for a literal")
    if _ODD_ESCAPE.search(text):
        raise ValueError("not a clean literal")
    try:
        value = ast.literal_eval(text.strip())
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("not a literal") from error
    if _has_tuple(value):
        raise ValueError("not JSON")
    return value


def _has_tuple(value: Any) -> bool:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            return True
        todo.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
    return False


_MENDS: tuple[Callable[[str], Any], ...] = (_without_trailing_commas, _python_literal)


def _integer(digits: str) -> int:
    """An integer; one far too long keeps only its being too large, as Python refuses to read it."""
    return int(digits) if len(digits) <= 40 else 1 << 64


def _why(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at character {error.pos}"
    return str(error)


def _quoted(given: Any) -> str:
    text = clean_text(given if isinstance(given, str) else repr(given))[0]
    return text if len(text) <= QUOTE else f"{text[:QUOTE]}…"

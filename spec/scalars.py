"""What an unquoted word of YAML stands for, by the core schema of YAML 1.2.

Source: YAML 1.2.2, chapter 10.3. `yes`, `on` and dates are texts here.
"""

from __future__ import annotations

import re
from typing import Any

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
LONGEST_NUMBER = 400
"""Digits that a number may have; longer ones are texts (reading them takes time squared)."""


def scalar_value(text: str) -> Any:
    """The value of an unquoted scalar: None, a bool, a number, else the text.

    >>> [scalar_value(word) for word in ("8", "0x1F", "1e3", "~", "true", "yes", "2026-11-30")]
    [8, 31, 1000.0, None, True, 'yes', '2026-11-30']
    """
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > LONGEST_NUMBER:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if signed := _INFINITE.fullmatch(text):
        return float(f"{signed[1]}inf")
    return text

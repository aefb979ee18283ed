"""Regular expressions that cannot hang: checked when they are read, and tried on a bounded text.

A pattern has to be one for both engines. Rust's, which pydantic brings and which takes linear time, says
whether there is a match; only then Python's looks for the groups. Repeats inside repeats are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

LONGEST_TEXT = 4000
"""Characters of a text that are looked at."""
LONGEST_PATTERN = 500
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P?<\w+>|\(\?[A-Za-z-]*[:)]|\{\d*,?\d*\}|.", re.S)


class BadPattern(ValueError):
    """A pattern that cannot be used, and why."""


@dataclass(frozen=True)
class Pattern:
    """A regular expression. Made by `pattern_of`."""

    text: str

    @cached_property
    def _groups(self) -> re.Pattern[str]:
        return re.compile(self.text)

    def groups_in(self, text: str) -> dict[str, str] | None:
        """The named groups of the first match in `text`; None if there is none."""
        cut = text[:LONGEST_TEXT]
        try:
            _linear(self.text).validate_python(cut)
        except ValidationError:
            return None
        found = self._groups.search(cut)
        return None if found is None else {key: value or "" for key, value in found.groupdict().items()}


def pattern_of(text: str) -> Pattern:
    """The pattern of a text. Raises BadPattern."""
    if len(text) > LONGEST_PATTERN:
        raise BadPattern(f"a pattern has at most {LONGEST_PATTERN} characters")
    try:
        re.compile(text)
        _linear(text)
    except Exception as error:  # each engine has its own errors
        why = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        raise BadPattern(f"the pattern {text!r:.60} cannot be used: {why:.200}") from error
    if _repeats_repeats(text):
        raise BadPattern(f"the pattern {text!r:.60} repeats what repeats already; write it without that")
    return Pattern(text)


@lru_cache(maxsize=256)
def _linear(text: str) -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[str, Field(pattern=text)])


def _repeats_repeats(text: str) -> bool:
    """Whether a group that holds a repeat or a choice is repeated itself."""
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    open_groups, closed = [False], False
    for token, following in zip(tokens, [*tokens, ""][1:], strict=True):
        if token[0] == "(" and not token.endswith(")"):
            open_groups.append(False)
        elif token == ")" and len(open_groups) > 1:
            closed = open_groups.pop()
            if closed and _repeats(following):
                return True
            open_groups[-1] |= closed or _repeats(following)
        elif token == "|" or _repeats(token):
            open_groups[-1] = True
    return False


def _repeats(token: str) -> bool:
    return token in ("*", "+") or (len(token) > 2 and token[0] == "{")

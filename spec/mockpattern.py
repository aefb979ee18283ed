"""Regular expressions that cannot hang: checked when they are read, and tried on a bounded text.

A pattern has to be one for both engines. Rust's, which pydantic brings and which takes linear time, says
whether there is a match; only then Python's looks for the groups. Repeats inside repeats are refused, and
three repeats side by side that could share their characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

LONGEST_TEXT = 1000
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
    if _repeats_share(text):
        raise BadPattern(
            f"the pattern {text!r:.60} has several repeats side by side that match the same; make one of them"
        )
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
        elif token in ("|", "?") or _repeats(token):
            open_groups[-1] = True
    return False


_Near = frozenset[tuple[int, frozenset[str]]]


def _repeats_share(text: str) -> bool:
    """Whether three unbounded repeats that match a same character stand with nothing needed between them."""
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    near: _Near = frozenset()
    groups: list[tuple[_Near, _Near]] = []
    for at, (token, following) in enumerate(zip(tokens, [*tokens, ""][1:], strict=True)):
        if token[0] == "(" and not token.endswith(")"):
            groups.append((near, frozenset()))
        elif token == "|":
            before, others = groups.pop() if groups else (frozenset(), frozenset())
            groups, near = [*groups, (before, others | near)], before
        elif token == ")" and groups:
            before, others = groups.pop()
            near |= others | (before if _may_be_left_out(following) else frozenset())
        elif members := _members(token):
            if _is_unbounded(following) and sum(bool(one & members) for _, one in near) > 1:
                return True
            if not _may_be_left_out(following):
                near = frozenset(one for one in near if _is_unbounded(following) and one[1] & members)
            near |= {(at, members)} if _is_unbounded(following) else frozenset()
    return False


def _is_unbounded(token: str) -> bool:
    return token in ("*", "+") or (token[:1] == "{" and token.endswith(",}"))


def _may_be_left_out(token: str) -> bool:
    return token in ("*", "?") or token.startswith(("{0,", "{,"))


@lru_cache(maxsize=256)
def _members(token: str) -> frozenset[str]:
    """The characters that one token matches, of a few that tell tokens apart."""
    if token[0] in "(){}*+?^$|" or token in (r"\b", r"\B", r"\A", r"\Z", r"\z"):
        return frozenset()
    return frozenset(one for one in _SAMPLE if re.fullmatch(token, one, re.I | re.S))


_SAMPLE = "".join(map(chr, range(9, 127))) + "\xa0é午"


def _repeats(token: str) -> bool:
    return token in ("*", "+") or (len(token) > 2 and token[0] == "{")

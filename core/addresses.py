"""Addresses of running units: a path, a unit id, or a pattern over paths.

In a pattern `*` stands for any text within one segment and `**` for any number of whole segments;
nothing else is special. A segment may leave out its pass and item marks: `review/actor` is every
pass of `review[n]/actor`, `files` every item `files{n}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .errors import PlaitError

ANY_TEXT, ANY_SEGMENTS = "*", "**"
_PASS, _ITEM = re.compile(r"\[\d*\]"), re.compile(r"\{\d*\}")
_WRITTEN_MARK = re.compile(r"\[[\d*]*\]|\{[\d*]*\}")


@dataclass(frozen=True, slots=True)
class Address:
    """Whom a message is for. Made by `parse_address`.

    >>> parse_address("deep/*/actor").matches("deep/security[2]/actor", "actor")
    True
    """

    text: str
    segments: tuple[str, ...]

    @property
    def is_pattern(self) -> bool:
        return ANY_TEXT in self.text

    def matches(self, path: str, unit: str) -> bool:
        """Whether the unit with the id `unit` that runs at `path` is meant."""
        return self.text == unit or _meet(self.segments, path.split("/"), _is_segment)

    def may_match(self, place: str, unit: str) -> bool:
        """Whether a unit that stands at `place` in a definition can ever be meant.

        `place` has no marks; where its path is made while it runs, it is itself a pattern.
        """
        return self.text == unit or _meet(self.segments, place.split("/"), _may_be_segment)


def parse_address(text: object) -> Address:
    """Raises PlaitError for what is no address."""
    if not isinstance(text, str) or not text.strip():
        raise PlaitError(f"an address must be a path, a unit id or a pattern, not {text!r}")
    segments = text.split("/")
    if not all(segment.strip() for segment in segments):
        raise PlaitError(f"address {text!r} has an empty segment; write it as 'deep/security/actor'")
    for segment in segments:
        if ANY_SEGMENTS in segment and segment != ANY_SEGMENTS:
            told = f"'**' stands for whole segments, so {segment!r} cannot hold it; use '*' within a segment"
            raise PlaitError(f"address {text!r}: {told}")
    return Address(text, tuple(segments))


def _meet(one: Sequence[str], other: Sequence[str], fits: Callable[[str, str], bool]) -> bool:
    """Whether some path fits both lists of segments, of which either may hold `**`."""
    below = [all(segment == ANY_SEGMENTS for segment in other[n:]) for n in range(len(other) + 1)]
    for segment in reversed(one):
        here = [segment == ANY_SEGMENTS and below[-1]]
        for n in range(len(other) - 1, -1, -1):
            if ANY_SEGMENTS in (segment, other[n]):
                here.append(below[n] or here[-1])
            else:
                here.append(below[n + 1] and fits(segment, other[n]))
        below = here[::-1]
    return below[0]


def _is_segment(pattern: str, segment: str) -> bool:
    """Whether a segment of an address means a segment of a path, with or without its marks."""
    bare = _ITEM.sub("", segment)
    forms = (segment, _PASS.sub("", segment), bare, _PASS.sub("", bare))
    return any(_is_like(pattern, form) for form in forms)


def _may_be_segment(pattern: str, place: str) -> bool:
    if place == ANY_TEXT:
        return True
    forms = (place, f"{place}[1]", f"{place}{{0}}")
    return any(_is_like(pattern, form) for form in forms) or _is_like(_WRITTEN_MARK.sub("", pattern), place)


def _is_like(pattern: str, text: str) -> bool:
    first, *pieces = pattern.split(ANY_TEXT)
    if not pieces:
        return pattern == text
    if not text.startswith(first):
        return False
    place, last = len(first), pieces.pop()
    for piece in pieces:
        found = text.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return len(text) - len(last) >= place and text.endswith(last)

"""How wide a text is drawn, and how it is broken into lines, without knowing the font."""

from __future__ import annotations

from unicodedata import category, east_asian_width

NARROW = frozenset("iljtfrI.,:;'|!()[]{}` ")
WIDE = frozenset("mwMWGOQ@%&—→…")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The most that `text` takes in common sans-serif fonts at `size`, in the same unit.

    Chinese, Japanese and Korean signs and emoji are one em wide.
    """
    ems = sum(_ems(sign) for sign in text)
    return ems * size * (1.1 if bold else 1.0)


def _ems(sign: str) -> float:
    if category(sign) in ("Mn", "Me", "Cf"):
        return 0.0
    if east_asian_width(sign) in "WF":
        return 1.02
    if sign in NARROW:
        return 0.4
    if sign in WIDE:
        return 1.0
    return 0.72 if sign.isupper() else 0.64


def wrapped(text: str, size: float, widest: float) -> list[str]:
    """`text` in lines of at most `widest`, broken at spaces, or anywhere in a longer word."""
    lines = [""]
    for word in text.split():
        for piece in _pieces(word, size, widest):
            joined = f"{lines[-1]} {piece}".strip()
            if lines[-1] and text_width(joined, size) > widest:
                lines.append(piece)
            else:
                lines[-1] = joined
    return lines


def _pieces(word: str, size: float, widest: float) -> list[str]:
    pieces = [""]
    for sign in word:
        if pieces[-1] and text_width(pieces[-1] + sign, size) > widest:
            pieces.append("")
        pieces[-1] += sign
    return pieces

"""Amounts of money in Chinese and English: read exactly, or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from plait.examples.accounting.words import CURRENCIES

LARGEST = 10**12

_CODES = {word: code for code, words in CURRENCIES.items() for word in words.split()} | {"毛": "CNY"}
_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "半": 5}
_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10000}
_SCALES = {"": 1, "k": 1000, "千": 1000, "万": 10000}


def _any(words: Iterable[str], end: str = "") -> str:
    return "|".join(re.escape(word) + end for word in sorted(words, key=len, reverse=True))


_LATIN = [word for word in _CODES if word.isascii() and word.isalpha()]
_OTHER = [word for word in _CODES if word not in _LATIN]
_DIGIT = "[0-9一二三四五六七八九]"
_UNIT = f"{_any(_OTHER)}|{_any(_LATIN, 's?(?![a-z])')}"

# The looks around `digits` leave the pieces of longer numbers unread: 1.234,5 or 12.000 or .50 or 7:30.
_AMOUNT = re.compile(
    rf"""
    (?: (?P<sign> {_any(w for w in _OTHER if not w.isalpha())} | (?:{_any(_LATIN)})(?=[\s0-9])) \s? )?
    (?: (?<![0-9.])(?<![0-9][,:]) (?P<digits> (?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+) (?:\.[0-9]{{1,2}})?)
        (?![.,:]?[0-9]) (?P<scale>k(?![a-z])|[千万])?
      | (?P<numeral>[零一二两三四五六七八九十百千万]+) )
    (?: \s? (?P<unit>{_UNIT})
        (?: (?<=块) (?P<jiao>{_DIGIT}|半) (?:毛(?P<fen>{_DIGIT})?)? )? (?![0-9]) )?
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)


class Amount(NamedTuple):
    value: Decimal
    currency: str


def read_amount(text: str, start: int) -> tuple[int, Amount] | None:
    """The amount written at `start` and where it ends; CNY when no currency stands beside it."""
    match = _AMOUNT.match(text, start)
    value = _value(match) if match else None
    if not match or not value or value >= LARGEST:
        return None
    named = {_currency(word) for word in match.group("sign", "unit") if word} or {"CNY"}
    return (match.end(), Amount(value, named.pop())) if len(named) == 1 else None


def _value(match: re.Match[str]) -> Decimal | None:
    if digits := match["digits"]:
        value = Decimal(digits.replace(",", "")) * _SCALES[(match["scale"] or "").lower()]
        value = Decimal(int(value)) if match["scale"] and value == int(value) else value
    elif (match["unit"] or _stands_alone(match)) and (whole := _chinese(match["numeral"])) is not None:
        value = Decimal(whole)
    else:
        return None
    if match["unit"] == "毛":
        return value / 10
    return value + Decimal(_digit(match["jiao"])) / 10 + Decimal(_digit(match["fen"])) / 100


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a bare numeral ends a phrase, as in 打车一百二; 三 in 三明治 does not."""
    following = match.string[match.end() : match.end() + 1]
    return len(match["numeral"]) > 1 and not following.isalnum()


def _chinese(text: str) -> int | None:
    """三十二 → 32, 一百二 → 120, 两千零五 → 2005; None where the numerals form no number."""
    total, digit, last, zero = 0, 0, 10**5, False
    for sign in text:
        if sign in _UNITS:
            if _UNITS[sign] >= last or not (digit or sign == "十"):
                return None
            last, zero = _UNITS[sign], False
            total, digit = total + (digit or 1) * last, 0
        elif digit or (zero and sign == "零"):
            return None
        else:
            digit, zero = _DIGITS[sign], zero or sign == "零"
    if zero and not digit:
        return None
    return total + digit * (last // 10 if 100 <= last <= 10_000 and not zero else 1)


def _digit(text: str | None) -> int:
    return 0 if not text else _DIGITS[text] if text in _DIGITS else int(text)


def _currency(word: str) -> str:
    return _CODES.get(word.lower()) or _CODES[word.lower().removesuffix("s")]

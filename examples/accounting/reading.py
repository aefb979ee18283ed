"""What a message says, read by rules that never guess.

A message is cut into tokens of known kinds, and what it is depends on the kinds alone. Every word must be
accounted for: one that the rules do not know makes the whole message "not understood", and so do two
amounts, two days, two kinds of expense, a question, a sign.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from plait.examples.accounting.amounts import read_amount
from plait.examples.accounting.dates import read_date
from plait.examples.accounting.ledger import Entry
from plait.examples.accounting.words import CHATTER, DETAILS, FILLERS, ITEMS, TALK

Kind = Literal["item", "detail", "filler", "talk", "chatter", "date", "amount", "gap", "unknown"]

LONGEST = 200
"""A longer message, in characters, is no note about one expense."""


@dataclass(frozen=True, slots=True)
class Talk:
    """Small talk about one of the topics of `words.TALK`."""

    topic: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """A message that is not understood, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a message: its kind, its text, and its meaning (a category, topic, day or amount)."""

    kind: Kind
    text: str
    meaning: Any = None


def read(message: str, today: dt.date) -> Entry | Talk | Unclear:
    """The expense or the small talk that `message` is, or why it is neither."""
    if len(message) > LONGEST:
        return Unclear(f"longer than {LONGEST} characters")
    tokens = list(scan(" ".join(message.translate(_PLAIN).split()), today))
    topics = _meanings(tokens, "talk")
    if topics and {token.kind for token in tokens} <= {"talk", "chatter", "filler", "date", "gap"}:
        return Talk(next((topic for topic in topics if topic != "greeting"), "greeting"))
    if faults := list(_faults(tokens)):
        return Unclear("; ".join(faults))
    (amount,) = _meanings(tokens, "amount")
    (day,) = _meanings(tokens, "date") or [today]
    category, *_ = _meanings(tokens, "item")
    value, currency = amount
    return Entry(item=_item(tokens), amount=value, currency=currency, category=category, date=day)


def scan(text: str, today: dt.date) -> Iterator[Token]:
    """Cut `text` into tokens; their texts joined are `text` again."""
    start = 0
    while start < len(text):
        token = _token(text, start, today)
        yield token
        start += len(token.text)


def _token(text: str, start: int, today: dt.date) -> Token:
    if day := read_date(text, start, today):
        return Token("date" if day[1] else "unknown", text[start : day[0]], day[1])
    if amount := read_amount(text, start):
        return Token("amount", text[start : amount[0]], amount[1])
    if word := _WORD.match(text, start):
        kind, meaning = _known(word[0].lower())
        return Token(kind, word[0], meaning)
    rest = _REST.match(text, start)
    assert rest is not None, "the last alternative matches anything"
    return Token("gap" if rest["gap"] else "unknown", rest[0])


def _faults(tokens: list[Token]) -> Iterator[str]:
    """Everything that keeps a message from being exactly one expense."""
    if strange := _runs(tokens, "unknown"):
        yield f"cannot read {_quoted(strange)}"
    if talk := _runs(tokens, "talk", "chatter"):
        yield f"{_quoted(talk)} does not belong to an expense"
    amounts, days, items = (_texts(tokens, kind) for kind in ("amount", "date", "item"))
    if len(amounts) != 1:
        yield f"{len(amounts)} amounts: {_quoted(amounts)}" if amounts else "no amount"
    if len(days) > 1:
        yield f"{len(days)} days: {_quoted(days)}"
    if not items:
        yield "no item"
    elif len(set(_meanings(tokens, "item"))) > 1:
        yield f"{_quoted(items)} are different kinds of expense"


def _item(tokens: list[Token]) -> str:
    """The words from the first to the last that say what was paid for."""
    named = [place for place, token in enumerate(tokens) if token.kind in ("item", "detail")]
    words = [token.text for token in tokens[named[0] : named[-1] + 1] if token.kind not in ("amount", "date")]
    return re.sub(_GAP, " ", "".join(words))


def _meanings(tokens: list[Token], kind: str) -> list[Any]:
    return [token.meaning for token in tokens if token.kind == kind]


def _texts(tokens: list[Token], kind: str) -> list[str]:
    return [token.text for token in tokens if token.kind == kind]


def _runs(tokens: list[Token], *kinds: Kind) -> list[str]:
    """The stretches of `tokens` of these kinds, with the gaps inside them."""
    runs = groupby(tokens, key=lambda token: token.kind in (*kinds, "gap"))
    texts = ["".join(token.text for token in run) for inside, run in runs if inside]
    return [text for text in (re.sub(rf"^{_GAP}|{_GAP}$", "", text) for text in texts) if text]


def _quoted(words: list[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)


def _vocabulary() -> dict[str, tuple[Kind, str]]:
    """Every known word with its kind and meaning."""
    kinds: list[tuple[Kind, str, str]] = [("item", category, words) for category, words in ITEMS.items()]
    kinds += [("talk", topic, words) for topic, words in TALK.items()]
    kinds += [("detail", "", DETAILS), ("filler", "", FILLERS), ("chatter", "", CHATTER)]
    known = ((word, kind, meaning) for kind, meaning, words in kinds for word in words.split())
    return {word.replace("_", " "): (kind, meaning) for word, kind, meaning in known}


def _known(word: str) -> tuple[Kind, str]:
    forms = (word, word.removesuffix("s"), word.removesuffix("es"))
    return next(_VOCABULARY[form] for form in forms if form in _VOCABULARY)


def _bounded(word: str) -> str:
    """A pattern for `word`: English in whole words, 药 not in 药水, longer Chinese words anywhere."""
    if word[0].isascii() and word[0].isalpha():
        return rf"(?<![a-z]){re.escape(word)}(?:e?s)?(?![a-z'])"
    if len(word) == 1 and _VOCABULARY[word][0] == "item":
        return f"(?:(?<![一-龥])|(?<=[买吃喝了的])){word}(?![一-龥])"
    return re.escape(word)


_FLAGS = re.ASCII | re.IGNORECASE  # ASCII, since ſ and K are no s and k
_GAP = r"[\s,.:;!、。]+"
_REST = re.compile(rf"(?P<gap>{_GAP})|[a-z']+|[0-9][0-9.,:]*|.", _FLAGS | re.DOTALL)
_VOCABULARY = _vocabulary()
_WORD = re.compile("|".join(map(_bounded, sorted(_VOCABULARY, key=len, reverse=True))), _FLAGS)
_PLAIN = {0xFFE5: "¥", 0x2019: "'"} | {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
"""Full-width forms as typed on a Chinese keyboard. No more than that: ² and ① are no digits here."""

"""What the command prints: a line per message, and the ledger's totals as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from unicodedata import category, east_asian_width

from plait.examples.accounting.ledger import Entry
from plait.examples.accounting.reading import Unclear

WIDEST = 40
"""Columns of the terminal that a message may take."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A message whose run ended with an error."""

    why: str


Reply = Entry | str | Unclear | Failed


def labels(messages: Sequence[str]) -> list[str]:
    """What a message's line begins with: its number of how many, and the message; nothing for a lone one."""
    if len(messages) < 2:
        return [""] * len(messages)
    texts = [shown(message) for message in messages]
    wide, total = min(WIDEST, max(map(width, texts))), str(len(texts))
    return [
        f"{number:>{len(total)}}/{total}  {padded(text, wide)}  "
        for number, text in enumerate(texts, start=1)
    ]


def verdict(reply: Reply) -> str:
    """One line on what became of a message."""
    match reply:
        case Entry():
            what = f"{reply.item}, {money(reply.amount)} {reply.currency}, {reply.category}, {reply.date}"
            return shown(f"booked: {what}")
        case Unclear():
            return shown(f"not understood: {reply.why}")
        case Failed():
            return shown(f"failed: {reply.why}")
        case _:
            return shown(f"answered: {reply}")


def totals_table(totals: Mapping[tuple[str, str], Decimal]) -> list[str]:
    """The lines of a table: currency, category, total."""
    rows = [(currency, kind, money(total)) for (currency, kind), total in totals.items()]
    return table([("currency", "category", "total"), *rows]) if rows else ["(empty)"]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as aligned lines, the last column to the right."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_cells(row, widths)) for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    *others, last = row
    for cell, wide in zip(others, widths, strict=False):
        yield padded(cell, wide)
    yield " " * (widths[-1] - width(last)) + last


def money(amount: Decimal) -> str:
    """An exact amount with at least two decimals.

    >>> money(Decimal("32")), money(Decimal("0.125"))
    ('32.00', '0.125')
    """
    exponent = amount.as_tuple().exponent
    return f"{amount:.2f}" if isinstance(exponent, int) and exponent >= -2 else f"{amount:f}"


def padded(text: str, wide: int) -> str:
    """`text` on exactly `wide` columns, cut with an ellipsis when it is longer."""
    if width(text) > wide:
        while width(text) > wide - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (wide - width(text))


def width(text: str) -> int:
    """How many columns a terminal gives to `text`: two to a Chinese character or emoji."""
    return sum(_columns(sign) for sign in text)


def _columns(sign: str) -> int:
    if category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(sign) in "WF" else 1


def shown(text: str) -> str:
    """`text` on one line without control characters, so that a message cannot steer the terminal."""
    return "".join(sign if sign.isprintable() else "�" for sign in " ".join(text.split()))

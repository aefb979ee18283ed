"""What the accounting command prints: aligned beside wide characters, exact, harmless to a terminal."""

import datetime as dt
from decimal import Decimal

from plait.examples.accounting.ledger import Entry
from plait.examples.accounting.reading import Unclear
from plait.examples.accounting.report import (
    Failed,
    labels,
    money,
    padded,
    table,
    totals_table,
    verdict,
    width,
)


def test_every_result_has_its_line():
    entry = Entry(item="午饭", amount=Decimal("32.5"), category="food", date=dt.date(2026, 11, 30))
    replies = [entry, "Hello!", Unclear("no amount"), Failed("no room")]
    assert [verdict(reply) for reply in replies] == [
        "booked: 午饭, 32.50 CNY, food, 2026-11-30",
        "answered: Hello!",
        "not understood: no amount",
        "failed: no room",
    ]


def test_messages_are_counted_and_aligned_unless_there_is_only_one():
    assert labels(["午饭 32", "hi"]) == ["1/2  午饭 32  ", "2/2  hi       "]
    assert labels(["午饭 32"]) == [""]


def test_a_table_lines_up_beside_wide_characters():
    lines = table([("item", "total"), ("午饭", "32.00"), ("taxi", "118.50")])
    assert lines == ["item   total", "午饭   32.00", "taxi  118.50"]
    assert {width(line) for line in lines} == {12}


def test_a_long_message_is_cut_to_its_columns():
    assert padded("午饭 32", 10) == "午饭 32   "
    assert padded("午饭午饭午饭", 8) == "午饭午… "


def test_money_shows_two_decimals_or_all_of_them():
    shown = [money(Decimal(amount)) for amount in ("32", "4.5", "1E+3", "0.125")]
    assert shown == ["32.00", "4.50", "1000.00", "0.125"]


def test_an_empty_ledger_says_so():
    assert totals_table({}) == ["(empty)"]


def test_a_result_cannot_steer_the_terminal():
    assert verdict("a\x1b[2Jb\nc") == "answered: a�[2Jb c"

"""The ledger: exact, complete, and safe for threads."""

import datetime as dt
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from plait.examples.accounting.ledger import Category, Entry, Ledger


def entry(amount: str, currency: str = "CNY", category: Category = "food", item: str = "午饭") -> Entry:
    day = dt.date(2026, 11, 30)
    return Entry(item=item, amount=Decimal(amount), currency=currency, category=category, date=day)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db")


def test_an_entry_comes_back_equal_with_its_number_and_message(ledger):
    number = ledger.save(entry("32.50"), text="午饭 32.50")
    ((kept_number, kept, text),) = Ledger(ledger.path).entries()
    assert (kept_number, kept, text) == (number, entry("32.50"), "午饭 32.50")
    assert str(kept.amount) == "32.50"


def test_amounts_are_kept_as_text_in_plain_notation(ledger):
    ledger.save(entry("1E+3"), text="")
    with sqlite3.connect(ledger.path) as connection:
        assert connection.execute("SELECT amount, typeof(amount) FROM entries").fetchone() == ("1000", "text")
    connection.close()


def test_totals_are_exact_sums_by_currency_and_category(ledger):
    for _ in range(10):
        ledger.save(entry("0.10"), text="")
    ledger.save(entry("999999999999.9999", "EUR", "transport"), text="")
    ledger.save(entry("0.0001", "EUR", "transport"), text="")
    totals = ledger.totals()
    assert totals == {("CNY", "food"): Decimal("1.00"), ("EUR", "transport"): Decimal("1000000000000")}
    assert list(totals) == sorted(totals)


def test_no_entry_is_lost_when_many_threads_save_at_once(ledger):
    with ThreadPoolExecutor(16) as pool:
        numbers = list(pool.map(lambda _: ledger.save(entry("0.01"), text=""), range(200)))
    assert sorted(numbers) == list(range(1, 201))
    assert ledger.totals() == {("CNY", "food"): Decimal("2.00")}


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "Infinity", "1000000000000", "0.00001"])
def test_an_amount_that_no_ledger_should_hold_is_no_entry(amount):
    with pytest.raises(ValidationError):
        entry(amount)


def test_an_entry_needs_an_item_and_a_currency_code():
    with pytest.raises(ValidationError):
        entry("1", item="")
    with pytest.raises(ValidationError):
        entry("1", currency="euro")


def test_a_file_that_is_no_ledger_is_refused_at_once(tmp_path):
    (tmp_path / "notes.txt").write_text("no database " * 100)
    with pytest.raises(sqlite3.Error):
        Ledger(tmp_path / "notes.txt")
    with pytest.raises(sqlite3.Error):
        Ledger(tmp_path / "no such folder" / "ledger.db")


def test_a_ledger_in_memory_is_refused():
    with pytest.raises(ValueError, match="lives in a file"):
        Ledger(":memory:")

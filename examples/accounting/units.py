"""The workflow: `classify` reads a message and sends it to `record`, to `general`, or nowhere."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from plait import (
    Condition,
    Resolved,
    RouterFlow,
    SharedState,
    Snapshot,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.examples.accounting.ledger import Category, Currency, Entry, Item, Ledger, Money
from plait.examples.accounting.reading import Unclear

SAVED = "saved"
"""The state key that holds the entry as it was booked; a run starts with None in it."""


@dataclass(frozen=True, slots=True)
class Books:
    """What a run is given besides the message: the ledger's file, and which day it is."""

    ledger: str = Field(default="ledger.db", description="the SQLite file in which entries are kept")
    today: dt.date = Field(
        default_factory=dt.date.today, description="the day to count from, such as 2026-11-30"
    )


class Route(BaseModel):
    """Where a message goes."""

    route: Literal["record", "general", "unclear"]
    why: str = Field("", description="for unclear: what cannot be understood, in a few words")


def save_entry(
    item: Item, amount: Money, currency: Currency, category: Category, date: dt.date, runtime: ToolRuntime
) -> str:
    """Write one expense into the ledger. A message is booked once."""
    if (booked := runtime.shared.get(SAVED)) is not None:
        raise ValueError(f"this message is booked already: {booked}")
    entry = Entry(item=item, amount=amount, currency=currency, category=category, date=date)
    number = Ledger(_books(runtime.context).ledger).save(entry, text=str(runtime.snapshot.task))
    runtime.shared.set(SAVED, entry)
    return f"Saved as entry {number}."


def is_saved(state: SharedState) -> bool:
    """Whether the message is in the ledger; until then `record` cannot resolve."""
    return state.get(SAVED) is not None


def classify_prompt(snapshot: Snapshot) -> str:
    return f"""You sort one-line messages, in Chinese or English, for an expense ledger. {_day(snapshot)}
record: exactly one expense: what was paid for, and one amount.
general: small talk with nothing to book.
unclear: all else. No amount or several, money received or returned, shared bills, questions about the books,
days to come, and whatever you would have to guess. Never guess: say why instead."""


def record_prompt(snapshot: Snapshot) -> str:
    return f"""You book the one expense in the message. {_day(snapshot)}
Call save_entry once, then resolve with the same values. Take the item in the message's own words and the
amount exactly as it is written. Without a currency it is CNY, without a day it is today."""


def general_prompt(snapshot: Snapshot) -> str:
    return f"""You answer small talk for an expense ledger: one kind sentence, in the language of the message,
and nothing that you cannot know. {_day(snapshot)}"""


def message_alone(snapshot: Snapshot) -> Any:
    """What `record` and `general` see: the message, without what `classify` made of it."""
    return snapshot.task


def not_understood(snapshot: Snapshot) -> Unclear:
    """The handler of `unclear`: nothing is booked, the reason is the result."""
    return Unclear(snapshot.output.why or "no reason given")


classify: WorkflowUnit[Route] = WorkflowUnit("classify", prompt=classify_prompt, output=Route)
record: WorkflowUnit[Entry] = WorkflowUnit(
    "record",
    prompt=record_prompt,
    output=Entry,
    tools=[save_entry],
    input_adapter=message_alone,
    termination=Resolved() & Condition(is_saved),
)
general: WorkflowUnit[str] = WorkflowUnit(
    "general", prompt=general_prompt, output=str, answer="text", input_adapter=message_alone
)
accounting = RouterFlow(classify, {"record": record, "general": general, "unclear": step(not_understood)})


def accounting_workflow(model: Any, *, checkpointer: str = "memory") -> Workflow:
    """The workflow on a model; its output is an Entry, an answer as text, or Unclear."""
    return Workflow(accounting, model=model, context_schema=Books, checkpointer=checkpointer)


def _books(context: Books | None) -> Books:
    return context or Books()


def _day(snapshot: Snapshot) -> str:
    return f"Today is {_books(snapshot.context).today:%Y-%m-%d}, a {_books(snapshot.context).today:%A}."

"""The embedded model: it plays the three units by the reading rules, from nothing but what it is sent."""

from __future__ import annotations

import datetime as dt
import re

from plait.examples.accounting.ledger import Entry
from plait.examples.accounting.reading import Talk, Unclear, read
from plait.testing import Request, ScriptedModel, call, text
from plait.testing.replies import Call, Reply

_ANSWERS = {  # by topic: in Chinese, in English
    "greeting": ("你好！发一条“午饭 32”，我就记账。", "Hello! Send “lunch 32” and I book it."),
    "thanks": ("不客气！", "You are welcome!"),
    "weather": ("我看不到天气，只会记账。", "I cannot see the weather, I only keep the books."),
    "about": ("我是记账助手，一条消息记一笔。", "I keep your expenses: one message, one entry."),
    "goodbye": ("再见！", "Goodbye!"),
}


def scripted_model() -> ScriptedModel:
    """A model that needs no key and answers the same message the same way every time."""
    return ScriptedModel({"classify": _classify, "record": _record, "general": _general})


def _classify(request: Request) -> Call:
    reading = _read(request)
    if isinstance(reading, Unclear):
        return call("resolve", route="unclear", why=reading.why)
    return call("resolve", route="general" if isinstance(reading, Talk) else "record")


def _record(request: Request) -> Call | Reply:
    reading = _read(request)
    if not isinstance(reading, Entry):
        return text("This is no expense that I can read.")
    if refused := [result.text for result in request.tool_results if result.status == "error"]:
        return text(f"The ledger did not take it: {refused[-1]}")
    return call("resolve" if request.tool_results else "save_entry", reading.model_dump(mode="json"))


def _general(request: Request) -> Reply:
    reading = _read(request)
    if not isinstance(reading, Talk):
        return text("I only keep the books.")
    in_chinese, in_english = _ANSWERS[reading.topic]
    return text(in_chinese if re.search("[一-龥]", request.first_user) else in_english)


def _read(request: Request) -> Entry | Talk | Unclear:
    """Read the user's message as of the day that the prompt names, as any model has to."""
    day = re.search(r"Today is (\d{4}-\d\d-\d\d)", request.system)
    if day is None:
        raise ValueError(f"the prompt of {request.unit} does not say which day it is")
    return read(request.first_user, dt.date.fromisoformat(day[1]))

"""The reading rules: what they book, and that they never guess."""

import datetime as dt
from decimal import Decimal
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from plait.examples.accounting.ledger import Entry
from plait.examples.accounting.reading import Talk, Unclear, read, scan
from plait.examples.accounting.scripted import scripted_model
from plait.examples.accounting.words import CHATTER, DETAILS, FILLERS, ITEMS, TALK

TODAY = dt.date(2026, 11, 30)  # a Monday


def booked(message: str) -> Entry:
    reading = read(message, TODAY)
    assert isinstance(reading, Entry), reading
    return reading


def refusal(message: str) -> str:
    reading = read(message, TODAY)
    assert isinstance(reading, Unclear), reading
    return reading.why


@pytest.mark.parametrize(
    ("message", "item", "amount", "currency", "category"),
    [
        ("午饭 32", "午饭", "32", "CNY", "food"),
        ("taxi 18.50 EUR yesterday", "taxi", "18.50", "EUR", "transport"),
        ("打车花了45块", "打车", "45", "CNY", "transport"),
        ("I spent 20 dollars on lunch", "lunch", "20", "USD", "food"),
        ("taxi to the airport £42", "taxi to the airport", "42", "GBP", "transport"),
        ("dinner 60 at home", "dinner at home", "60", "CNY", "food"),
        ("晚上吃火锅，１２０元。", "火锅", "120", "CNY", "food"),
        ("the  gym　card\u00a0880", "gym card", "880", "CNY", "health"),
        ("Gym membership 1.2k", "Gym membership", "1200", "CNY", "health"),
        ("买药 56", "买药", "56", "CNY", "health"),
        ("三明治 25", "三明治", "25", "CNY", "food"),
        ("一杯咖啡 HK$38", "一杯咖啡", "38", "HKD", "food"),
    ],
)
def test_an_expense_is_read_in_full(message, item, amount, currency, category):
    entry = booked(message)
    assert (entry.item, str(entry.amount)) == (item, amount)
    assert (entry.currency, entry.category) == (currency, category)


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("32", "32"),
        ("¥32.5", "32.5"),
        ("￥1,280.50", "1280.50"),
        ("32块5", "32.5"),
        ("三十二块五", "32.5"),
        ("三块半", "3.5"),
        ("三块二毛五", "3.25"),
        ("八毛", "0.8"),
        ("十五元", "15"),
        ("一百二", "120"),
        ("一百零五块钱", "105"),
        ("两千零五", "2005"),
        ("三千五", "3500"),
        ("两万三千", "23000"),
        ("1.2万", "12000"),
    ],
)
def test_an_amount_is_exact_however_it_is_written(written, amount):
    assert booked(f"午饭 {written}").amount == Decimal(amount)


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("", "2026-11-30"),
        ("今天", "2026-11-30"),
        ("last night", "2026-11-29"),
        ("前天", "2026-11-28"),
        ("the day before yesterday", "2026-11-28"),
        ("三天前", "2026-11-27"),
        ("3 days ago", "2026-11-27"),
        ("last Friday", "2026-11-27"),
        ("last Monday", "2026-11-23"),
        ("上周三", "2026-11-25"),
        ("3月5日", "2026-03-05"),
        ("on Nov 2nd", "2026-11-02"),
        ("2026-11-02", "2026-11-02"),
        ("2025年12月31日", "2025-12-31"),
    ],
)
def test_a_day_is_counted_from_today(written, day):
    assert booked(f"lunch {written} ¥32").date == dt.date.fromisoformat(day)


def test_a_day_without_a_year_is_the_latest_one():
    reading = read("12月30日 午饭 30", dt.date(2027, 1, 2))
    assert isinstance(reading, Entry)
    assert reading.date == dt.date(2026, 12, 30)


@pytest.mark.parametrize(
    "message",
    [
        "午饭 32.555",
        "房租 3.500",
        "房租 1.234,56",
        "房租 3,50",
        "coffee .50",
        "coffee 3½",
        "午饭 3²",
        "午饭①",
        "午饭 ٣٢",
        "午饭 -32",
        "lunch (32)",
        "午饭 0",
        "午饭 99999999999999",
        "午饭 三二",
        "午饭 7:30",
        "bus\u017f 2",
        "bus 2 u\u017fd",
        "rent 2\u212a",
        "午饭 32%",
    ],
)
def test_a_number_that_is_no_plain_amount_is_not_understood(message):
    assert "cannot read" in refusal(message)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("午饭", "no amount"),
        ("32", "no item"),
        ("午饭 32 45", "2 amounts: “32”, “45”"),
        ("昨天 午饭 32 前天", "2 days: “昨天”, “前天”"),
        ("午饭 打车 50", "“午饭”, “打车” are different kinds of expense"),
        ("午饭 32?", "“?” does not belong to an expense"),
        ("明天午饭 32", "“明天” does not belong to an expense"),
        ("$5 EUR lunch", "cannot read “$”"),
        ("午饭没花32", "cannot read “没”"),
        ("请我吃饭 32", "cannot read “请”"),
        ("lunch with Tom 32", "cannot read “with Tom”"),
        ("2月30日 午饭 30", "cannot read “2月30日”"),
        ("2026-12-24 gift 100", "cannot read “2026-12-24”"),
        ("12月5日 房租 3500", "cannot read “12月5日”"),
        ("lunch 20 nov 5", "cannot read “nov”; 2 amounts: “20”, “5”"),
        ("午饭 " * 100 + "32", "longer than 200 characters"),
    ],
)
def test_whatever_would_have_to_be_guessed_is_refused_with_the_reason(message, why):
    assert refusal(message) == why


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("今天天气怎么样", "weather"),
        ("What’s the weather like tomorrow?", "weather"),
        ("你好，今天天气怎么样？", "weather"),
        ("hello!", "greeting"),
        ("谢谢～", "thanks"),
        ("who are you", "about"),
    ],
)
def test_small_talk_is_known_by_its_topic(message, topic):
    assert read(message, TODAY) == Talk(topic)


def test_a_question_about_the_books_is_no_small_talk():
    assert "cannot read" in refusal("thanks, how much did I spend?")
    assert "cannot read" in refusal("上个月一共花了多少")


def test_no_word_stands_in_two_lists():
    words = " ".join([*ITEMS.values(), *TALK.values(), DETAILS, FILLERS, CHATTER]).split()
    assert sorted(words) == sorted(set(words))


@given(st.text(max_size=40) | st.text("午饭打车lunch元块$. ,-0123456789十百二两昨天", max_size=20))
def test_any_text_is_read_without_an_error_and_cut_without_a_loss(message):
    read(message, TODAY)
    assert "".join(token.text for token in scan(message, TODAY)) == message


@given(st.text("退不借还和给收没改", min_size=1), st.integers(1, 9999))
def test_a_word_that_is_not_known_is_never_booked(word, amount):
    assert isinstance(read(f"{word} 午饭 {amount}", TODAY), Unclear)


def test_ten_of_the_thirty_shipped_messages_are_not_understood():
    messages = files("plait.examples").joinpath("data/messages.txt").read_text(encoding="utf-8").splitlines()
    readings = [read(message, TODAY) for message in messages]
    assert len(readings) == 30
    assert [type(reading) for reading in readings].count(Unclear) == 10


def ask(unit: str, *messages: AIMessage | HumanMessage | ToolMessage) -> AIMessage:
    prompt = SystemMessage("Today is 2026-11-30, a Monday.")
    return scripted_model().invoke([prompt, *messages], {"metadata": {"plait_unit": unit}})


def test_the_scripted_model_routes_by_what_the_message_says():
    replies = [ask("classify", HumanMessage(said)) for said in ("午饭 32", "hello", "AA 120")]
    routes = [reply.tool_calls[0]["args"] for reply in replies]
    assert [route["route"] for route in routes] == ["record", "general", "unclear"]
    assert "AA" in routes[2]["why"]


def test_the_scripted_model_saves_an_entry_and_then_resolves_it():
    message = HumanMessage("午饭 32")
    saving = ask("record", message)
    resolving = ask("record", message, saving, ToolMessage("Saved.", tool_call_id=saving.tool_calls[0]["id"]))
    assert [made.tool_calls[0]["name"] for made in (saving, resolving)] == ["save_entry", "resolve"]
    assert saving.tool_calls[0]["args"] == resolving.tool_calls[0]["args"]
    assert Entry.model_validate(saving.tool_calls[0]["args"]) == booked("午饭 32")


def test_the_scripted_model_does_not_resolve_what_the_ledger_refused():
    message = HumanMessage("午饭 32")
    saving = ask("record", message)
    refused = ToolMessage("disk full", tool_call_id=saving.tool_calls[0]["id"], status="error")
    answer = ask("record", message, saving, refused)
    assert not answer.tool_calls
    assert "disk full" in answer.text


def test_the_scripted_model_answers_small_talk_in_its_language():
    assert ask("general", HumanMessage("谢谢！")).text == "不客气！"
    assert ask("general", HumanMessage("thanks!")).text == "You are welcome!"

"""The ways through a workflow that are told most, each against two servers that others wrote."""

import datetime as dt
from decimal import Decimal

from pydantic import BaseModel

from plait import Workflow, WorkflowUnit
from plait.examples.accounting.ledger import Entry, Ledger
from plait.examples.accounting.units import Books, accounting_workflow

from .servers import says
from .support import offered, ran, tool_texts, wire_history_faults

DAY = dt.date(2026, 11, 30)
LUNCH = {"item": "午饭", "amount": "32", "currency": "CNY", "category": "food", "date": "2026-11-30"}


class City(BaseModel):
    city: str


class Search:
    def __init__(self):
        self.runs = []

    def unit(self, **options):
        async def search(q: str) -> str:
            """Look something up."""
            self.runs.append(q)
            return f"found {q}"

        return WorkflowUnit("find", prompt="Find the city.", output=City, tools=[search], **options)


def paris(call="resolve"):
    return says((call, {"city": "Paris"}))


async def test_an_expense_is_booked_in_three_requests(server, chat, streamed, tmp_path):
    server.script("You sort one-line messages", says(("resolve", {"route": "record"})))
    server.script("You book the one expense", says(("save_entry", LUNCH)), says(("resolve", LUNCH)))
    books = Books(str(tmp_path / "ledger.db"), DAY)
    result = await ran(
        accounting_workflow(chat(server.base_url)), "午饭 32", context=books, streamed=streamed
    )
    assert result.output == Entry(item="午饭", amount=Decimal("32"), category="food", date=DAY)
    assert [step.path for step in result.steps] == ["classify", "record"]
    assert (result.usage.model_calls, len(server.bodies)) == (3, 3)
    assert Ledger(books.ledger).totals() != []
    assert wire_history_faults(server.bodies) == []


async def test_small_talk_is_answered_in_text(server, chat, streamed):
    server.script("You sort one-line messages", says(("resolve", {"route": "general"})))
    server.script("You answer small talk", says(text="不客气！"))
    result = await ran(accounting_workflow(chat(server.base_url)), "谢谢", streamed=streamed)
    assert (result.outcome, result.output) == ("done", "不客气！")


async def test_prose_draws_one_reminder_that_names_resolve(server, chat, streamed):
    server.script("Find the city", says(text="The capital is Paris."), paris())
    result = await ran(Workflow(Search().unit(), model=chat(server.base_url)), streamed=streamed)
    assert (result.output, len(server.bodies)) == (City(city="Paris"), 2)
    prose, reminder = server.bodies[1]["messages"][-2:]
    assert prose["content"] == "The capital is Paris."
    assert (reminder["role"], "resolve" in reminder["content"]) == ("user", True)


async def test_prose_without_end_fails_with_the_last_text(server, chat, streamed):
    server.script("Find the city", *[says(text="The capital is Paris.")] * 3)
    result = await ran(Workflow(Search().unit(reminders=2), model=chat(server.base_url)), streamed=streamed)
    assert (result.outcome, result.reason, len(server.bodies)) == ("failed", "no-resolve", 3)
    assert "The capital is Paris." in result.message
    assert wire_history_faults(server.bodies) == []


async def test_broken_arguments_run_once_they_are_right(server, chat, streamed):
    search, asked = Search(), ("search", {"q": "x"})
    server.script("Find the city", says(asked, broken=True), says(asked), paris())
    result = await ran(Workflow(search.unit(), model=chat(server.base_url)), streamed=streamed)
    assert (result.outcome, search.runs, len(server.bodies)) == ("done", ["x"], 3)
    assert "not valid JSON" in tool_texts(server.bodies[1])[0]
    assert wire_history_faults(server.bodies) == []


async def test_parallel_calls_each_get_their_result(server, chat, streamed):
    search = Search()
    server.script("Find the city", says(*[("search", {"q": q}) for q in "abc"]), paris())
    result = await ran(Workflow(search.unit(), model=chat(server.base_url)), streamed=streamed)
    assert (result.outcome, sorted(search.runs)) == ("done", ["a", "b", "c"])
    assert tool_texts(server.bodies[1]) == ["found a", "found b", "found c"]
    assert wire_history_faults(server.bodies) == []


async def test_text_beside_calls_stays_in_the_history(server, chat, streamed):
    server.script("Find the city", says(("search", {"q": "x"}), text="Let me look."), paris())
    result = await ran(Workflow(Search().unit(), model=chat(server.base_url)), streamed=streamed)
    assert result.outcome == "done"
    assert server.bodies[1]["messages"][2]["content"] == "Let me look."


async def test_an_unknown_tool_is_answered_with_the_tools_there_are(server, chat, streamed):
    search = Search()
    server.script("Find the city", says(("serch", {"q": "x"})), says(("search", {"q": "x"})), paris())
    result = await ran(Workflow(search.unit(), model=chat(server.base_url)), streamed=streamed)
    assert (result.outcome, search.runs, len(server.bodies)) == ("done", ["x"], 3)
    told = tool_texts(server.bodies[1])[0]
    assert all(name in told for name in ("serch", *offered(server.bodies[0])))
    assert wire_history_faults(server.bodies) == []


async def test_a_resolve_beside_a_call_waits_for_it(server, chat, streamed):
    search = Search()
    server.script("Find the city", says(("resolve", {"city": "Paris"}), ("search", {"q": "x"})))
    result = await ran(Workflow(search.unit(), model=chat(server.base_url)), streamed=streamed)
    assert (result.output, search.runs, len(server.bodies)) == (City(city="Paris"), ["x"], 1)

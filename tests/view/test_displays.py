"""What a notebook shows of results, errors, comparisons and threads: whatever is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from plait import (
    ParallelFlow,
    RunError,
    Workflow,
    WorkflowUnit,
    approve,
    ask,
    step,
    tool,
)
from plait.core.stored import Stored
from plait.graphs.results import Results
from plait.testing import ScriptedModel, call, text
from plait.view.html import MOST_ROWS, badge, block, path_html, table
from plait.view.theme import STATUS_COLOURS
from plait.view.values import short_value, value_html
from plait.view.words import count, cut, said_value, seconds

EVIL = "<script>alert('1')</script>&\"\x00\ud800"


class Item(BaseModel):
    name: str
    price: Decimal = Decimal(1)


class Basket(BaseModel):
    items: list[Item]
    note: str = ""
    due: date = date(2026, 12, 1)


@dataclass
class Rude:
    """A class whose repr raises."""

    value: int = 1

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


VOID = {"br", "img", "wbr"}


class Balanced(HTMLParser):
    """Reads HTML, and fails when its elements do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def html_of(value: Any) -> Balanced:
    """What a notebook shows of a value, checked on the way."""
    bundle = value._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    found = Balanced(bundle["text/html"])
    assert "script" not in found.seen
    return found


def answering(*replies: Any, **options: Any) -> Workflow:
    return Workflow(WorkflowUnit("one", answer="text", **options), model=ScriptedModel([*replies]))


async def test_a_result_shows_its_output_and_its_steps() -> None:
    def look(name: str) -> str:
        """Look."""
        return name

    unit = WorkflowUnit("shop", output=Basket, tools=[look])
    script = [
        [call("look", name="a"), call("look", name="b")],
        call("resolve", items=[{"name": "pear", "price": "2.50"}], note="soon", due="2026-12-24"),
    ]
    result = await Workflow(unit, model=ScriptedModel(script)).run("go", thread_id="t")
    shown = html_of(result)
    for part in (
        "done",
        "pear",
        "2.50",
        "2026-12-24",
        "items: 1 item",
        "look ×2",
        "2 model calls",
        "thread t",
    ):
        assert part in shown.text
    assert result._repr_mimebundle_()["text/plain"] == repr(result)


async def test_what_is_said_is_text_and_nothing_else() -> None:
    result = await answering(text(EVIL)).run(EVIL, thread_id="<b>t</b>")
    for value in (result, Results([result])):
        assert "<script>alert" in html_of(value).text


def test_a_repr_that_raises_is_told() -> None:
    assert "value" in Balanced(value_html(Rude())).text
    assert said_value([Rude()]) == "<list, whose repr raises RuntimeError>"
    assert short_value({"a": [Rude(), 1]}) == "a: <list, whose repr raises RuntimeError>"
    assert "<list, whose repr raises RuntimeError>" in Balanced(value_html({"a": [Rude(), 1]})).text


async def test_a_result_whose_output_raises_is_shown() -> None:
    outer = await Workflow(step(lambda snapshot: 1, id="made")).run("go")
    broken = replace(outer, stored=Stored({"kind": "no such"}, "output", None, Rude()))
    assert "made" in html_of(broken).text


async def test_a_thousand_steps_are_cut_with_a_count() -> None:
    flow = ParallelFlow.map(step(lambda snapshot: 1, id="part"), over=lambda snapshot: list(range(1_000)))
    shown = html_of(await Workflow(flow).run("go"))
    assert "1,000 steps" in shown.text
    assert "900 of 1,000 steps are not shown" in shown.text
    assert shown.seen.count("tr") == MOST_ROWS + 2


async def test_a_huge_output_does_not_fill_the_notebook() -> None:
    result = await answering(text("x" * 300_000), accept_json_text=False).run("go")
    bundle = result._repr_mimebundle_()
    assert len(bundle["text/html"]) < 12_000
    assert len(bundle["text/plain"]) < 12_000


def test_columns_beyond_what_a_page_holds_are_counted() -> None:
    rows = [{f"sensor_{row}_{column}": column for column in range(300)} for row in range(60)]
    shown = value_html(rows)
    assert len(shown) < 60_000
    assert "… 17,980 more columns" in shown


async def test_a_paused_run_shows_what_it_asks() -> None:
    def pay(amount: int) -> str:
        """Pay."""
        return str(ask("Which <account>?"))

    unit = WorkflowUnit("till", answer="text", tools=[tool(pay, approval=lambda args: "much money")])
    workflow = Workflow(unit, model=ScriptedModel([call("pay", amount=400), text("paid")]))
    first = await workflow.run("go", thread_id="t")
    shown = html_of(first)
    for part in ("paused", "approval of till", "much money", "pay(amount=400)", first.interrupts[0].id):
        assert part in shown.text
    second = await workflow.resume("t", approve())
    assert "Which <account>?" in html_of(second).text
    assert "workflow.resume('t'" in html_of(second).text


async def test_a_failed_run_says_where_and_why() -> None:
    with pytest.raises(RunError) as caught:
        await answering(text(""), text(""), text("")).run("go")
    shown = html_of(caught.value)
    assert "empty-reply" in shown.text
    assert shown.text.count("failed") == 1
    assert "empty-reply" in html_of(caught.value.result).text
    assert "Oh" in html_of(RunError("Oh", path="a/b")).text


async def test_a_batch_is_a_list_and_shows_as_a_table() -> None:
    def play(request: Any) -> Any:
        return text("") if "bad" in request.first_user else text(request.first_user.upper())

    workflow = Workflow(WorkflowUnit("one", answer="text"), model=ScriptedModel(play))
    results = await workflow.batch(["a", "bad", "c"], return_exceptions=True)
    assert isinstance(results, list)
    assert [getattr(result, "outcome", None) for result in results] == ["done", None, "done"]
    shown = html_of(results)
    for part in ("A", "bad", "C", "failed", "one"):
        assert part in shown.text
    assert "ValueError: oh" in html_of(Results([ValueError("oh")])).text
    assert Results([1, 2]) == [1, 2]


async def test_two_threads_stand_beside_each_other() -> None:
    flow = WorkflowUnit("one", answer="text") >> WorkflowUnit("two", answer="text")
    workflow = Workflow(
        flow, model=ScriptedModel(lambda request: text(f"{request.unit} {len(request.user)}"))
    )
    await workflow.run("a", thread_id="a")
    await workflow.run("bb", thread_id="b")
    compared = await workflow.thread("a").compare("b")
    assert html_of(compared).text.startswith("2 of 2 steps differ")
    assert compared._repr_mimebundle_()["text/html"].count('<td class="t d">') == 4
    same = await workflow.thread("a").compare("a")
    assert "no step differs" in html_of(same).text
    assert 'class="t d"' not in same._repr_mimebundle_()["text/html"]


async def test_a_rerun_stands_beside_what_was() -> None:
    workflow = Workflow(
        WorkflowUnit("shop", output=Item), model=ScriptedModel([call("resolve", name="pear", price=2)])
    )
    await workflow.run("go", thread_id="t")
    other = ScriptedModel([call("resolve", name="pear", price=3)])
    again = await workflow.thread("t").rerun("shop", prompt="Ask more.", model=other)
    shown = again._repr_mimebundle_()["text/html"]
    assert '<td class="t d">2</td><td class="t d">3</td>' in shown
    assert '<td class="t">pear</td><td class="t">pear</td>' in shown
    html_of(again)


async def test_a_thread_shows_where_it_stood(saver_url: Any) -> None:
    workflow = answering(text("x"), text("y")).replace(checkpointer=saver_url)
    assert "Nothing has run" in html_of(workflow.thread("t")).text
    await workflow.run("go", thread_id="t")
    forked = await workflow.thread("t").fork(thread_id="f")
    shown = html_of(workflow.thread("t"))
    assert "points, newest first" in shown.text
    assert "end" in shown.text
    assert "forked from t" in html_of(forked).text


class Unreadable(InMemorySaver):
    """A saver that cannot be read."""

    async def aget_tuple(self, config: Any) -> Any:
        raise OSError("no disk")

    def alist(self, *args: Any, **options: Any) -> Any:
        raise OSError("no disk")


def test_a_thread_that_cannot_be_read_says_so() -> None:
    shown = html_of(answering(text("x")).replace(checkpointer=Unreadable()).thread("t"))
    assert "cannot be read from here" in shown.text


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.text()
        | st.integers()
        | st.floats()
        | st.builds(Rude)
        | st.builds(Item, name=st.text()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=30,
    )
)
def test_any_value_becomes_whole_html(value: Any) -> None:
    Balanced(block(value_html(value)))
    assert len(short_value(value)) <= 161


@given(st.text(), st.text(), st.text())
def test_any_text_stays_text(path: str, title: str, cell: str) -> None:
    page = Balanced(table([(title, ""), ("b", "n")], [[path_html(path), cell]]))
    assert set(page.seen) <= {"table", "thead", "tbody", "tr", "th", "td", "wbr"}


def luminance(colour: str) -> float:
    """Source: WCAG 2.2, relative luminance."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("status", [*STATUS_COLOURS])
def test_a_status_is_legible(status: str) -> None:
    border, ground = STATUS_COLOURS[status]
    assert f"background:{border}" in badge(status)
    assert contrast(ground, "#1a202c") > 7
    assert contrast(border, ground) > 3
    assert status == "skipped" or contrast(border, "#ffffff") > 4.5


def test_styles_hold_only_for_what_is_ours() -> None:
    style = re.findall(r"<style>(.*?)</style>", block("x"))[0]
    selectors = [
        one.strip() for rule in style.split("}") if rule.strip() for one in rule.split("{")[0].split(",")
    ]
    assert all(one.startswith(".plait.plait") for one in selectors)


def words() -> Iterator[tuple[str, str]]:
    yield cut("abc", 3), "abc"
    yield cut("abcdef", 4), "abc…"
    yield count(1, "step"), "1 step"
    yield count(1_200, "token"), "1,200 tokens"
    yield seconds(0.0412), "41 ms"
    yield seconds(3.21), "3.2 s"
    yield seconds(125), "2 min 5 s"


@pytest.mark.parametrize(("said", "due"), [*words()])
def test_counts_and_times_are_short(said: str, due: str) -> None:
    assert said == due

"""The inbox over a store, the pure choice of what a unit gets now, and what looking costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from plait import Workflow, WorkflowUnit
from plait.core.ports import InboxItem, Live
from plait.graphs.drive import Drive
from plait.nodes.inbox import StoreInbox, delivery, due, inbox_namespace, new_item, undelivered
from plait.testing import ScriptedModel, call

STEER, OTHER = InboxItem("1", "u", "first"), InboxItem("2", "**/u", "second")
LATER = InboxItem("0", "u", "later", "follow_up")
ITEMS = (LATER, STEER, OTHER)


def test_a_busy_unit_gets_steers_in_the_order_of_sending() -> None:
    assert due(ITEMS, (), "deep/u", "u") == (STEER,)
    assert due(ITEMS, (), "deep/u", "u", "all") == (STEER, OTHER)
    assert due(ITEMS, {delivery(STEER, "deep/u")}, "deep/u", "u") == (OTHER,)


def test_an_idle_unit_gets_follow_ups_once_no_steer_waits() -> None:
    told = {delivery(STEER, "deep/u"), delivery(OTHER, "deep/u")}
    assert due(ITEMS, (), "deep/u", "u", is_idle=True) == (STEER,)
    assert due(ITEMS, told, "deep/u", "u", is_idle=True) == (LATER,)
    assert due(ITEMS, told, "deep/u", "u") == ()


def test_a_delivery_counts_for_all_passes_of_a_place_and_for_no_other() -> None:
    told = {delivery(STEER, "loop[1]/u")}
    assert due((STEER,), told, "loop[2]/u", "u") == ()
    assert due((STEER,), told, "other/u", "u") == (STEER,)
    assert undelivered(ITEMS, told) == (LATER, OTHER)


def test_an_address_that_is_none_matches_nobody() -> None:
    assert due((InboxItem("1", "a//b", "hm"),), (), "u", "u") == ()


@pytest.mark.parametrize("thread", ["a.b", "t", "t2", "a%2Eb", "mei@例", "a_b", "half \ud83d", "**"])
async def test_a_thread_has_a_box_of_its_own_whatever_its_id(thread: str) -> None:
    store = InMemoryStore()
    inbox = StoreInbox(store)
    for other in ("a.b", "a", "t", "t22", "t2", "a%2Eb", "axb", "mei@例"):
        await inbox.put(other, new_item("u", f"for {other}"))
    mine = new_item("u", "mine")
    await inbox.put(thread, mine)

    found = await inbox.items(thread)

    assert found[-1] == mine
    assert {item.text for item in found[:-1]} <= {f"for {thread}"}
    assert "." not in "".join(inbox_namespace(thread))


async def test_a_full_box_is_read_to_its_end_and_in_order() -> None:
    inbox = StoreInbox(InMemoryStore())
    sent = [new_item("u", f"{n}") for n in range(2100)]
    for item in reversed(sent):
        await inbox.put("t", item)

    assert list(await inbox.items("t")) == sent


@pytest.mark.parametrize(
    "value", [{}, {"text": 3, "address": "u"}, {"text": "a", "address": "u", "kind": "x"}]
)
async def test_what_is_no_message_is_passed_over(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    store = InMemoryStore()
    await store.aput(inbox_namespace("t"), "k", value)

    assert await StoreInbox(store).items("t") == ()
    assert "inbox item k is no message" in caplog.text


class Counting:
    """An inbox that counts how often it is read."""

    def __init__(self, *items: InboxItem) -> None:
        self.held = list(items)
        self.reads = 0

    async def put(self, thread_id: str, item: InboxItem) -> None:
        self.held.append(item)

    async def items(self, thread_id: str) -> Sequence[InboxItem]:
        self.reads += 1
        return tuple(self.held)


def look(n: int) -> int:
    """Look."""
    return n


async def reads(inbox: Counting, *script: Any) -> int:
    workflow = Workflow(WorkflowUnit("u", tools=[look]), model=ScriptedModel(list(script)))
    async with workflow.drive("t") as drive:
        counted: Drive = drive
        counted.live = Live(inbox=inbox)
        await counted.run({"task": "Go."})
    return inbox.reads


async def test_a_box_is_read_once_a_model_call_and_once_more_at_the_end_of_unit_and_turn() -> None:
    calls = [call("look", n=n) for n in range(3)]
    end = call("resolve", value="ok")

    assert await reads(Counting(), *calls, end) == 4 + 1 + 1
    assert await reads(Counting(InboxItem("1", "u", "hm")), *calls, end) == 4 + 1 + 1
    assert await reads(Counting(InboxItem("1", "u", "hm", "follow_up")), *calls, end, end) == 5 + 2 + 1


async def test_without_a_box_nothing_is_looked_for() -> None:
    workflow = Workflow(WorkflowUnit("u", tools=[look]), model=ScriptedModel([call("resolve", value="ok")]))

    assert (await workflow.graph.ainvoke({"task": "Go."}, {"configurable": {"thread_id": "t"}}))[
        "output"
    ] == "ok"

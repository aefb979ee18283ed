"""One SQLite file: what is written at one time shares a commit, and lies there as LangGraph's own would."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore

from plait import Workflow, WorkflowUnit
from plait.adapters import sqlite_saver as sqlite_saver_module
from plait.adapters.database import Database, database
from plait.adapters.sqlite import sqlite_live_store, sqlite_saver
from plait.core.errors import RunError
from plait.core.ports import InboxItem
from plait.nodes import journal
from plait.nodes.inbox import StoreInbox
from plait.testing import ScriptedModel, call, text

INSERT = "INSERT INTO kept VALUES (?)"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "runs.db")


@asynccontextmanager
async def watched(path: str) -> AsyncIterator[tuple[Database, list[str]]]:
    """The file, and the statements that are run in it from now on."""
    seen: list[str] = []
    async with database(path) as opened:
        await opened.run(lambda connection: connection.execute("CREATE TABLE kept (value TEXT NOT NULL)"))
        await opened.run(lambda connection: connection.set_trace_callback(seen.append))
        yield opened, seen


def rows(path: str, query: str) -> Sequence[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


async def test_writes_that_come_at_one_time_share_commits_in_their_order(path: str) -> None:
    async with watched(path) as (opened, seen):
        await asyncio.gather(*(opened.write((INSERT, [(str(n),)])) for n in range(20)))
    assert [value for (value,) in rows(path, "SELECT value FROM kept ORDER BY rowid")] == [
        str(n) for n in range(20)
    ]
    assert seen.count("COMMIT") == 1


async def test_a_write_that_cannot_be_made_fails_alone_and_leaves_nothing(path: str) -> None:
    async with watched(path) as (opened, _):
        good, bad = opened.write((INSERT, [("a",)])), opened.write((INSERT, [("b",), (None,)]))
        told = await asyncio.gather(good, bad, opened.write((INSERT, [("c",)])), return_exceptions=True)
    assert [type(error) for error in told] == [type(None), sqlite3.IntegrityError, type(None)]
    assert rows(path, "SELECT value FROM kept") == [("a",), ("c",)]


async def test_a_write_that_was_not_begun_is_given_up_with_its_caller(path: str) -> None:
    async with watched(path) as (opened, _):
        first = asyncio.create_task(opened.write((INSERT, [("a",)])))
        second = asyncio.create_task(opened.write((INSERT, [("b",)])))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
    assert rows(path, "SELECT value FROM kept") == [("a",)]


async def test_those_who_have_a_file_open_at_one_time_share_a_thread(path: str) -> None:
    async with database(path) as one, database(path) as other:
        assert one is other
        assert (await one.run(lambda _: threading.get_ident())) == await other.run(
            lambda _: threading.get_ident()
        )


async def test_what_is_closed_fails_instead_of_waiting(path: str) -> None:
    async with database(path) as opened:
        pass
    with pytest.raises(ValueError, match="no active connection"):
        await opened.write((INSERT, [("a",)]))


async def filled(saver: Any) -> None:
    """A thread of three checkpoints with the writes between them."""
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for number in range(3):
        checkpoint = {**empty_checkpoint(), "id": f"id{number}", "ts": "now", "channel_values": {"a": number}}
        config = await saver.aput(config, checkpoint, {"source": "loop", "step": number, "said": "é"}, {})
        await saver.aput_writes(config, [("a", number), ("b", ["x"])], "task", "path")
        await saver.aput_writes(config, [("__interrupt__", "why")], "other", "path")
        await saver.aput_writes(config, [("a", number), ("__error__", "why")], "third")


async def test_the_saver_writes_the_rows_that_langgraphs_own_writes(tmp_path: Path) -> None:
    own, ours = str(tmp_path / "own.db"), str(tmp_path / "ours.db")
    async with AsyncSqliteSaver.from_conn_string(own) as saver:
        await filled(saver)
    async with sqlite_saver(ours, None) as kept:
        await filled(kept)
    for query in ("SELECT * FROM checkpoints ORDER BY 3", "SELECT * FROM writes ORDER BY 3, 4, 6"):
        assert rows(own, query) == rows(ours, query)
        assert len(rows(own, query)) >= 3
    assert rows(own, "SELECT sql FROM sqlite_master") == rows(ours, "SELECT sql FROM sqlite_master")


async def test_results_of_tasks_are_there_for_who_reads_and_once_it_is_closed(path: str) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with sqlite_saver(path, None) as saver:
        at = await saver.aput(config, {**empty_checkpoint(), "id": "1"}, {}, {})
        await saver.aput_writes(at, [("a", 1)], "task")
        found = await saver.aget_tuple(at)
        assert found is not None
        assert found.pending_writes == [("task", "a", 1)]
        await saver.aput_writes(at, [("a", 2)], "later")
    assert len(rows(path, "SELECT * FROM writes")) == 2


async def test_results_of_tasks_that_end_before_others_are_written_without_them(path: str) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with sqlite_saver(path, None) as saver:
        at = await saver.aput(config, {**empty_checkpoint(), "id": "1"}, {}, {})
        await saver.aput_writes(at, [("a", 1)], "task")
        for _ in range(1000):
            if found := rows(path, "SELECT * FROM writes"):
                break
            await asyncio.sleep(0.01)
        assert len(found) == 1


async def test_results_that_come_while_others_are_written_are_not_forgotten(path: str) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with sqlite_saver(path, None) as saver:
        at = await saver.aput(config, {**empty_checkpoint(), "id": "1"}, {}, {})
        for number in range(30):
            await saver.aput_writes(at, [("a", number)], f"task {number}")
            await asyncio.sleep(0.0007)
        for _ in range(1000):
            if len(found := rows(path, "SELECT * FROM writes")) == 30:
                break
            await asyncio.sleep(0.01)
        assert len(found) == 30


async def test_a_checkpoint_that_cannot_be_written_keeps_the_results_for_the_next(path: str) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with sqlite_saver(path, None) as saver:
        at = await saver.aput(config, {**empty_checkpoint(), "id": "1"}, {}, {})
        await saver.aput_writes(at, [("a", 1)], "task")
        odd: Any = {"configurable": {**at["configurable"], "checkpoint_id": object()}}
        with pytest.raises(RunError, match="writing the checkpoint"):
            await saver.aput(odd, {**empty_checkpoint(), "id": "2"}, {}, {})
        await saver.aput(at, {**empty_checkpoint(), "id": "2"}, {}, {})
    assert len(rows(path, "SELECT * FROM writes")) == 1


async def test_the_tables_of_the_live_store_are_langgraphs(tmp_path: Path) -> None:
    own, ours = str(tmp_path / "own.db"), str(tmp_path / "ours.db")
    async with AsyncSqliteStore.from_conn_string(own) as store:
        await store.setup()
    async with sqlite_live_store(ours):
        pass
    tables = "SELECT name, sql FROM sqlite_master ORDER BY 1"
    assert [[str(said).split() for said in row] for row in rows(own, tables)] == [
        [str(said).split() for said in row] for row in rows(ours, tables)
    ]
    version = "SELECT v FROM store_migrations"
    assert rows(own, version) == rows(ours, version)


async def test_langgraphs_store_and_the_live_store_read_each_others_items(path: str) -> None:
    told = InboxItem("1", "record", "amounts are in EUR")
    for _ in range(2):
        async with AsyncSqliteStore.from_conn_string(path) as store:
            await store.setup()
            await StoreInbox(store).put("own", told)
        async with sqlite_live_store(path) as live:
            assert await StoreInbox(live).items("own") == (told,)
            await StoreInbox(live).put("ours", told)
        async with AsyncSqliteStore.from_conn_string(path) as store:
            assert await StoreInbox(store).items("ours") == (told,)


async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def commits_in(seen: Sequence[str]) -> int:
    """The commits of checkpoints, results and journal; events are written now and then."""
    transactions = "\n".join(seen).split("COMMIT")
    tables = ("INTO checkpoints", "INTO writes", "INTO plait_journal")
    return sum(any(table in done for table in tables) for done in transactions)


@pytest.mark.parametrize(("granularity", "commits"), [("round", 4), ("unit", 2)])
async def test_a_round_with_two_unsafe_calls_costs_few_commits(
    path: str, granularity: Any, commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_saver_module, journal):
        monkeypatch.setattr(module, "SOON_S", 60.0)

    async def commits_of(rounds: int) -> int:
        replies = [[call("pay", amount=n), call("pay", amount=-n)] for n in range(rounds)]
        unit = WorkflowUnit("payer", answer="text", tools=[pay], max_rounds=rounds + 1)
        model = ScriptedModel([*replies, text("all paid")])
        url = f"sqlite:///{path}"
        workflow = Workflow(unit, model=model, checkpointer=url, granularity=granularity)
        seen: list[str] = []
        async with workflow, database(path) as opened:
            await opened.run(lambda connection: connection.set_trace_callback(seen.append))
            await workflow.run("go")
        return commits_in(seen)

    few, many = await commits_of(5), await commits_of(25)
    assert many - few == 20 * commits

"""Opening and closing: once per event loop, closed with the last run, and never left open."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plait import DefinitionError, Workflow, WorkflowUnit
from plait.adapters.source import Source
from plait.testing import ScriptedModel, text

log: list[str] = []


@asynccontextmanager
async def logged(delay_s: float = 0.0) -> AsyncIterator[int]:
    log.append("open")
    await asyncio.sleep(delay_s)
    try:
        yield len(log)
    finally:
        await asyncio.sleep(delay_s)
        log.append("close")


@pytest.fixture
def source() -> Source:
    log.clear()
    return Source(None, lambda: logged(0.01))


def chat(url: Any, replies: int = 1) -> Workflow:
    model = ScriptedModel([text("hello")] * replies)
    return Workflow(WorkflowUnit("chat", answer="text"), model=model, checkpointer=url)


async def test_users_at_one_time_share_one_opening(source: Source) -> None:
    async def use() -> Any:
        async with source.use() as value:
            await asyncio.sleep(0.02)
            return value

    assert len(set(await asyncio.gather(*(use() for _ in range(5))))) == 1
    assert log == ["open", "close"]


async def test_users_one_after_the_other_open_anew_and_never_twice_at_a_time(source: Source) -> None:
    async def use(n: int) -> None:
        await asyncio.sleep(n * 0.007)
        async with source.use():
            await asyncio.sleep(0.005)

    await asyncio.gather(*(use(n) for n in range(30)))
    assert log[::2] == ["open"] * (len(log) // 2)
    assert log[1::2] == ["close"] * (len(log) // 2)


async def test_a_user_cancelled_while_it_closes_still_closes(source: Source) -> None:
    async def use() -> None:
        async with source.use():
            pass

    task = asyncio.create_task(use())
    await asyncio.sleep(0.015)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["open", "close"]


async def test_an_opening_that_fails_leaves_nothing_behind(source: Source) -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[int]:
        raise ConnectionError("no way in")
        yield 1

    opener, source.opener = source.opener, broken
    with pytest.raises(ConnectionError):
        async with source.use():
            pass
    source.opener = opener
    async with source.use():
        assert log == ["open"]


def test_two_event_loops_at_once_share_a_workflow(lasting_url: str) -> None:
    workflow, found = chat(lasting_url, 20), []

    async def runs(name: str) -> None:
        for n in range(5):
            found.append((await workflow.run("hi", thread_id=f"{name}{n}")).outcome)

    threads = [threading.Thread(target=lambda name=name: asyncio.run(runs(name))) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == ["done"] * 10


def test_one_loop_after_the_other_and_run_sync_share_a_thread(lasting_url: str) -> None:
    workflow = chat(lasting_url, 3)
    for _ in range(2):
        asyncio.run(workflow.run("hi", thread_id="t"))
    assert len(workflow.run_sync("hi", thread_id="t").messages) == 6


async def test_run_sync_works_beside_a_run_of_the_same_workflow(lasting_url: str) -> None:
    workflow = chat(lasting_url, 2)
    async with workflow:
        await workflow.run("hi", thread_id="t")
        assert len((await asyncio.to_thread(workflow.run_sync, "hi", thread_id="t")).messages) == 4


@pytest.mark.parametrize("url", ["sqlite:runs.db", "sqlite:///", "mysql://here", 3])
def test_what_names_no_saver_is_refused_at_once(url: Any) -> None:
    for option in ("checkpointer", "store"):
        with pytest.raises(DefinitionError, match=option):
            Workflow(WorkflowUnit("chat"), model=ScriptedModel([]), **{option: url})

"""One writer per thread: over the runs of a process, over processes, and when the holder dies."""

import asyncio
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from plait import NothingToResume, RunError, ThreadBusy, Workflow, WorkflowUnit, step
from plait.adapters.file_locks import FileLocks
from plait.adapters.locks import LocalLock, SharedLock
from plait.adapters.postgres_locks import PostgresLocks
from plait.testing import ScriptedModel, call

from .processes import started, told, until

BUSY = "thread 't' is busy with another run"


def effects(folder: Path) -> list[str]:
    file = folder / "effects"
    return file.read_text().split() if file.exists() else []


def killed_in_its_tool(url: str, folder: Path) -> None:
    """A process that runs the thread and is killed inside its tool."""
    process = started("holder", url, folder, "run")
    until(lambda: effects(folder) or process.poll() is not None)
    process.kill()
    assert process.communicate() == ("", "")


def is_free(url: str) -> bool:
    async def looked() -> bool:
        async with Workflow(step(str, id="one"), checkpointer=url).drive("t") as drive:
            assert drive.live.lock is not None
            return not await drive.live.lock.is_held("t")

    return asyncio.run(looked())


def test_two_processes_resume_one_thread_and_one_is_told(lasting_url: str, tmp_path: Path) -> None:
    killed_in_its_tool(lasting_url, tmp_path)
    until(lambda: is_free(lasting_url))  # a server may notice a moment later
    both = [started("holder", lasting_url, tmp_path, "resume") for _ in range(2)]
    until(lambda: any(process.poll() is not None for process in both) and len(effects(tmp_path)) == 2)
    (tmp_path / "go").touch()
    said = sorted(told(process)["told"] for process in both)
    assert said[0] == "done"
    assert said[1].startswith(BUSY)
    assert len(effects(tmp_path)) == 2  # the killed one and the winner


def test_a_thread_whose_holder_was_killed_is_free(lasting_url: str, tmp_path: Path) -> None:
    killed_in_its_tool(lasting_url, tmp_path)
    (tmp_path / "go").touch()
    assert told(started("holder", lasting_url, tmp_path, "queue")) == {"told": "done"}


def test_who_queues_goes_on_when_the_other_process_is_killed(lasting_url: str, tmp_path: Path) -> None:
    holder = started("holder", lasting_url, tmp_path, "run")
    until(lambda: effects(tmp_path))
    waiting = started("holder", lasting_url, tmp_path, "queue")
    time.sleep(1)  # long enough to be told, if it were not waiting
    assert (waiting.poll(), len(effects(tmp_path))) == (None, 1)
    holder.kill()
    holder.communicate()
    (tmp_path / "go").touch()
    assert told(waiting) == {"told": "done"}


# Inside one process


def one_at_a_time() -> Any:
    """A flow that raises when two runs are in it at a time, and notes the tasks it saw."""
    seen: list[Any] = []
    inside = 0

    async def function(snapshot: Any) -> str:
        nonlocal inside
        inside += 1
        assert inside == 1
        await asyncio.sleep(0.02)
        seen.append(snapshot.task)
        inside -= 1
        return "done"

    return step(function, id="one"), seen


async def test_a_second_run_is_told_that_the_thread_is_busy(saver_url: Any) -> None:
    inside, leave = asyncio.Event(), asyncio.Event()

    async def function(snapshot: Any) -> str:
        inside.set()
        await leave.wait()
        return "done"

    one, other = (Workflow(step(function, id="one"), checkpointer=saver_url) for _ in range(2))
    run = one.start("first", thread_id="t")
    await inside.wait()
    for again in (one.run("second", thread_id="t"), other.run("third", thread_id="t"), other.resume("t")):
        with pytest.raises(ThreadBusy, match=BUSY):
            await again
    leave.set()
    assert (await run.result()).outcome == "done"


async def test_queued_runs_take_their_turns_in_order(saver_url: Any) -> None:
    flow, seen = one_at_a_time()
    async with Workflow(flow, checkpointer=saver_url) as workflow:
        runs = [workflow.start(str(n), thread_id="t", queue=True) for n in range(5)]
        assert [(await run.result()).outcome for run in runs] == ["done"] * 5
    assert seen == list("01234")


async def test_queued_runs_of_several_workflows_and_event_loops_never_meet(saver_url: Any) -> None:
    flow, seen = one_at_a_time()

    def in_a_thread(n: int) -> str:
        return Workflow(flow, checkpointer=saver_url).run_sync(str(n), thread_id="t", queue=True).outcome

    async def here(n: int) -> str:
        return (await Workflow(flow, checkpointer=saver_url).run(str(n), thread_id="t", queue=True)).outcome

    elsewhere = [asyncio.to_thread(in_a_thread, n) for n in range(3)]
    assert await asyncio.gather(*elsewhere, *map(here, range(3, 6))) == ["done"] * 6
    assert sorted(seen) == list("012345")


async def test_a_cancelled_run_in_the_queue_lets_the_next_one_through(saver_url: Any) -> None:
    flow, seen = one_at_a_time()
    async with Workflow(flow, checkpointer=saver_url) as workflow:
        runs = [workflow.start(str(n), thread_id="t", queue=True) for n in range(3)]
        async for _ in runs[0].events(types=["agent_start"]):
            break
        await runs[1].cancel()
        assert (await runs[2].result()).outcome == "done"
        assert (await runs[1].result()).outcome == "cancelled"
    assert seen == ["0", "2"]


async def test_a_thread_is_free_after_a_run_of_every_ending(saver_url: Any) -> None:
    model = ScriptedModel({"unit": [call("nothing")] * 9})
    workflow = Workflow(WorkflowUnit("unit", max_rounds=1), model=model, checkpointer=saver_url)
    with pytest.raises(RunError):
        await workflow.run("go", thread_id="t")
    with pytest.raises(RunError):
        await workflow.run("again", thread_id="t")
    with pytest.raises(NothingToResume):
        await workflow.resume("other")
    async with workflow.drive("t") as drive:
        assert drive.live.lock is not None
        assert not await drive.live.lock.is_held("t")


# The file lock


async def test_a_file_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    lock = SharedLock(FileLocks(str(tmp_path / "runs.db")))
    for thread in ("t", "../t", "a/b", "x" * 3000, "\ud800", ""):
        async with lock.hold(thread), lock.hold(thread + "2"):
            assert len(list((tmp_path / "runs.db-locks").iterdir())) == 2
    assert os.listdir(tmp_path) == []


async def test_what_killed_holders_left_is_swept_up_unless_somebody_holds_it(tmp_path: Path) -> None:
    folder = tmp_path / "runs.db-locks"
    async with SharedLock(FileLocks(str(tmp_path / "runs.db"))).hold("held"):
        for n in range(5):
            (folder / str(n)).touch()
        for file in folder.iterdir():
            os.utime(file, (1, 1))
        async with SharedLock(FileLocks(str(tmp_path / "runs.db"))).hold("t"):
            assert len(list(folder.iterdir())) == 2


async def test_who_looks_whether_a_thread_is_held_never_makes_it_busy(tmp_path: Path) -> None:
    lock, other = (SharedLock(FileLocks(str(tmp_path / "runs.db"))) for _ in range(2))

    def look() -> None:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            asyncio.run(other.is_held("t"))

    looking = asyncio.create_task(asyncio.to_thread(look))
    while not looking.done():
        async with lock.hold("t"):
            pass
        await asyncio.sleep(0)


async def test_a_lock_whose_file_was_taken_away_stops_its_run(tmp_path: Path) -> None:
    later: list[str] = []
    files = [tmp_path / "runs.db-locks" / FileLocks("x")._path("t").name]

    def take_away(snapshot: Any) -> str:
        while files:
            files.pop().unlink()
        return "gone"

    flow = step(take_away, id="one") >> step(lambda snapshot: later.append("ran") or "x", id="two")
    workflow = Workflow(flow, checkpointer=f"sqlite:///{tmp_path}/runs.db")
    with pytest.raises(RunError, match="lock of thread 't' was lost") as raised:
        await workflow.run("go", thread_id="t")
    assert (raised.value.reason, later) == ("store", [])
    assert (await workflow.resume("t")).outcome == "done"


def test_a_forked_child_does_not_keep_the_lock_of_its_parent(tmp_path: Path) -> None:
    async def held() -> None:
        lock, other = (SharedLock(FileLocks(str(tmp_path / "runs.db"))) for _ in range(2))
        context = multiprocessing.get_context("fork")
        leave, gone = context.Event(), context.Event()
        async with lock.hold("t"):
            child = context.Process(target=_live_on, args=(lock, leave, gone))
            child.start()
            gone.wait(30)
            with pytest.raises(ThreadBusy):  # what the child let go of is not ours
                async with other.hold("t"):
                    pass
            await lock.check("t")
        async with other.hold("t"):
            assert child.is_alive()
        leave.set()
        child.join(30)
        assert child.exitcode == 0

    asyncio.run(held())


def _live_on(lock: Any, leave: Any, gone: Any) -> None:
    async def try_it() -> None:
        with pytest.raises(ThreadBusy):
            async with lock.hold("t"):
                pass
        await lock._outer.give("t")

    asyncio.run(try_it())
    gone.set()
    leave.wait(30)


# The advisory lock


async def kill_the_connection_of(url: str, locks: PostgresLocks) -> None:
    pid = locks._opened.info.backend_pid
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))


async def test_a_broken_connection_is_made_anew_when_nobody_took_the_thread(postgres: str) -> None:
    locks, other = PostgresLocks(postgres), PostgresLocks(postgres)
    async with SharedLock(locks).hold("t"):
        await kill_the_connection_of(postgres, locks)
        await locks.check("t")
        assert not await other.take("t")
    assert await other.take("t")
    await other.give("t")
    await locks.close()
    await other.close()


@pytest.mark.parametrize("given_back", [False, True])
async def test_a_broken_connection_is_noticed_when_another_took_the_thread(
    postgres: str, given_back: bool
) -> None:
    locks, other = PostgresLocks(postgres), PostgresLocks(postgres)
    async with SharedLock(locks).hold("t"):
        await kill_the_connection_of(postgres, locks)
        assert await other.take("t")
        if given_back:
            await other.give("t")
        for _ in range(2):
            with pytest.raises(RunError, match="lock of thread 't' was lost"):
                await locks.check("t")
    if not given_back:
        assert await PostgresLocks.is_taken(other, "t")
    await locks.close()
    await other.close()


async def test_a_run_that_lost_its_thread_stops_and_writes_nothing(postgres: str) -> None:
    other, later = PostgresLocks(postgres), []

    async def lose(snapshot: Any) -> str:
        await kill_the_connection_of(postgres, holding.live.lock._outer)
        assert await other.take("t")
        return "lost"

    flow = step(lose, id="one") >> step(lambda snapshot: later.append("ran") or "x", id="two")
    workflow = Workflow(flow, checkpointer=postgres)
    async with workflow, workflow.drive("t") as holding:
        with pytest.raises(RunError, match="lock of thread 't' was lost") as raised:
            await workflow.run("go", thread_id="t")
        assert (raised.value.reason, later) == ("store", [])
        assert [step.path for step in raised.value.result.steps] == ["one"]
        assert (await workflow.thread("t").result()).steps == ()
    await other.close()


async def test_the_table_of_holders_does_not_grow(postgres: str) -> None:
    locks = PostgresLocks(postgres)
    lock = SharedLock(locks)
    for n in range(5):
        async with lock.hold(f"t{n}"), lock.hold("u"):
            assert await locks._ask("SELECT count(*) FROM plait_locks", {}) == (2,)
    assert await locks._ask("SELECT count(*) FROM plait_locks", {}) == (0,)
    await locks.close()


async def test_a_waiting_run_that_is_cancelled_just_as_its_turn_comes_hands_it_on() -> None:
    lock = LocalLock()
    holding = lock.hold("t")
    await holding.__aenter__()
    waiting = asyncio.ensure_future(lock.hold("t", wait=True).__aenter__())
    await asyncio.sleep(0)
    await holding.__aexit__(None, None, None)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not await lock.is_held("t")

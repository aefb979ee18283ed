"""The event log and the inbox of threads that live in memory."""

from plait.adapters.eventlog import KEPT_RUNS
from plait.adapters.memory import MemoryEventLog, MemoryInbox
from plait.core.events import Event
from plait.core.ports import Recorder
from plait.nodes.inbox import new_item


def tell(recorder: Recorder, *types: str) -> None:
    for number, type in enumerate(types, start=1):
        recorder(Event(type, "r", "", number))  # type: ignore[arg-type]


async def test_a_reader_goes_on_where_it_stopped() -> None:
    log = MemoryEventLog()
    async with log.writer("t") as recorder:
        tell(recorder, "agent_start")
        latest = await log.latest("t")
        assert latest is not None
        assert not latest.has_ended
        first, place = await log.read("t", latest.start)
        tell(recorder, "turn_start", "agent_end")
    rest, _ = await log.read("t", place)
    assert [event.type for event in (*first, *rest)] == ["agent_start", "turn_start", "agent_end"]
    latest = await log.latest("t")
    assert latest is not None
    assert latest.has_ended


async def test_a_run_that_told_nothing_is_no_run() -> None:
    log = MemoryEventLog()
    async with log.writer("t"):
        pass
    assert await log.latest("t") is None
    async with log.writer("t") as recorder:
        tell(recorder, "agent_end")
    async with log.writer("t"):
        pass
    latest = await log.latest("t")
    assert latest is not None
    assert latest.has_ended


async def test_the_events_of_the_latest_runs_are_kept() -> None:
    log, places = MemoryEventLog(), list[str]()
    for _ in range(KEPT_RUNS + 2):
        async with log.writer("t") as recorder:
            tell(recorder, "agent_end")
        latest = await log.latest("t")
        assert latest is not None
        places.append(latest.start)
    kept = [bool((await log.read("t", place))[0]) for place in places]
    assert kept == [False, False, *[True] * KEPT_RUNS]


async def test_pieces_are_wanted_while_somebody_reads() -> None:
    log = MemoryEventLog()
    async with log.writer("t") as recorder, log.writer("other") as other:
        assert not recorder.is_watched
        async with log.watching("t"):
            assert recorder.is_watched
            assert not other.is_watched
        assert not recorder.is_watched


async def test_pieces_that_nobody_has_read_yet_are_put_together() -> None:
    log = MemoryEventLog()
    async with log.writer("t") as recorder:
        for number, delta in enumerate(("a", "b"), start=1):
            recorder(Event("message_update", "r", "p", number, delta=delta))
        found, place = await log.read("t", "1/0")
        recorder(Event("message_update", "r", "p", 3, delta="c"))
    later, _ = await log.read("t", place)
    assert [event.delta for event in (*found, *later)] == ["ab", "c"]


async def test_a_thread_has_an_inbox_of_its_own_in_the_order_of_sending() -> None:
    inbox = MemoryInbox()
    first, second, other = new_item("u", "one"), new_item("u", "two"), new_item("u", "hm")
    await inbox.put("t", second)
    await inbox.put("t", first)
    await inbox.put("t2", other)
    assert await inbox.items("t") == (first, second)
    assert await inbox.items("nobody") == ()

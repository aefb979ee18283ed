"""Field cases: tools that raise, names that do not exist, calls without end."""

import asyncio

import pytest
from langchain_core.messages import AIMessage
from langgraph.errors import NodeCancelledError
from pydantic import BaseModel

from plait import Limits, WorkflowUnit
from plait.testing import call

from ..support import answers, run, run_failing


class Ok(BaseModel):
    ok: bool


class Flaky:
    """A tool that raises on its first call."""

    def __init__(self, error):
        self.error = error
        self.calls = 0

    def lookup(self) -> str:
        """Look it up."""
        self.calls += 1
        if self.calls == 1:
            raise self.error
        return "found"

    def as_async(self):
        async def lookup() -> str:
            """Look it up."""
            return self.lookup()

        return lookup


class Search:
    """A tool that counts its calls."""

    def __init__(self):
        self.queries = []

    def search(self, q: str) -> str:
        """Search for q."""
        self.queries.append(q)
        return f"about {q}"


def work(*tools, **options):
    return WorkflowUnit("work", output=Ok, tools=tools, **options)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_f03_a_tool_that_raises_is_an_answer(kind):
    flaky = Flaky(ValueError("boom 42"))
    tool = flaky.lookup if kind == "sync" else flaky.as_async()
    result, model = await run(work(tool), [call("lookup"), call("lookup"), call("resolve", ok=True)])
    first, second = answers(model.requests[2])
    assert (first.status, second.status, second.content) == ("error", "success", "found")
    assert "lookup" in first.content
    assert "boom 42" in first.content
    assert "Traceback" not in first.content
    assert "\n" not in first.content
    assert [record.ok for record in result.steps[0].tool_calls] == [False, True]


@pytest.mark.parametrize(
    "error", [ValueError(""), KeyError("k"), AssertionError(), StopIteration("s"), TimeoutError("t")]
)
async def test_f03_any_ordinary_exception_is_an_answer(error):
    _, model = await run(work(Flaky(error).as_async()), [call("lookup"), call("resolve", ok=True)])
    (answer,) = answers(model.requests[1])
    assert answer.status == "error"
    assert "lookup" in answer.content


async def test_f03_cancellation_is_no_tool_error():
    started = asyncio.Event()

    async def lookup() -> str:
        """Look it up."""
        started.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run(work(lookup), [call("lookup")]))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("count", [1, 2])
async def test_f03_a_cancelled_error_that_a_tool_raises_itself_is_not_swallowed(count):
    async def lookup() -> str:
        """Look it up."""
        raise asyncio.CancelledError

    with pytest.raises((asyncio.CancelledError, NodeCancelledError)):  # LangGraph names the node
        await run(work(lookup), [[call("lookup")] * count])


def test_f03_a_keyboard_interrupt_in_a_tool_leaves_the_run():
    async def lookup() -> str:
        """Look it up."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run(work(lookup), [call("lookup")]))


async def test_f05_an_unknown_name_is_answered_with_the_names_there_are():
    search = Search()
    script = [call("serch", q="x"), call("search", q="x"), call("resolve", ok=True)]
    _, model = await run(work(search.search), script)
    assert search.queries == ["x"]
    first, _ = answers(model.requests[2])
    assert first.status == "error"
    assert "search" in first.content
    assert "resolve" in first.content
    assert len(model.requests) == 3


async def test_f05_an_unknown_name_beside_a_known_one_stops_nothing():
    search = Search()
    _, model = await run(
        work(search.search), [[call("serch", q="x"), call("search", q="y")], call("resolve", ok=True)]
    )
    assert search.queries == ["y"]
    assert [answer.status for answer in answers(model.requests[1])] == ["error", "success"]


async def test_f05_unknown_names_stop_at_the_ordinary_limit():
    error, model = await run_failing(work(Search().search), lambda request: call("serch", q="x"))
    assert error.reason == "limit"
    assert "max_rounds=25" in str(error)
    assert len(model.requests) == 25


async def test_f06_the_same_call_for_ever_stops_at_the_limit_given():
    search = Search()
    script = [call("search", q="x")] * 5
    error, model = await run_failing(work(search.search), script, limits=Limits(model_calls=5))
    assert error.reason == "limit"
    assert "model_calls" in str(error)
    assert "5" in str(error)
    assert len(model.requests) == 5
    assert [c.output for c in error.result.steps[0].tool_calls] == ["about x"] * 5


async def test_f06_without_a_limit_a_cap_applies():
    search = Search()
    error, model = await run_failing(work(search.search), lambda request: call("search", q="x"))
    assert error.reason == "limit"
    assert "max_rounds" in str(error)
    assert len(model.requests) <= 100
    assert len(search.queries) == len(model.requests)


async def test_f06_a_large_number_of_rounds_is_no_recursion_error():
    unit = work(Search().search, max_rounds=150)
    error, model = await run_failing(unit, lambda request: call("search", q="x"))
    assert "max_rounds=150" in str(error)
    assert len(model.requests) == 150


class Counter:
    """An async tool that counts the bodies that ran."""

    def __init__(self):
        self.ran = 0

    async def count(self, n: int) -> int:
        """Count."""
        self.ran += 1
        await asyncio.sleep(0)
        return n


async def test_f55_a_batch_runs_no_further_than_the_limit():
    counter = Counter()
    batch = [call("count", n=n) for n in range(8)]
    error, _ = await run_failing(work(counter.count), [batch], limits=Limits(tool_calls=6))
    assert counter.ran == 6
    assert error.reason == "limit"
    assert "tool_calls=6" in str(error)
    assert [record.ok for record in error.result.steps[0].tool_calls] == [True] * 6 + [False] * 2
    assert error.result.usage.tool_calls == 6


async def test_f55_parallel_calls_are_counted_exactly_every_time():
    for _ in range(100):
        counter = Counter()
        batch = [call("count", n=n) for n in range(3)]
        result, _ = await run(
            work(counter.count), [batch, call("resolve", ok=True)], limits=Limits(tool_calls=10)
        )
        assert (counter.ran, result.usage.tool_calls) == (3, 3)


async def test_f55_a_limit_that_is_just_enough_is_no_failure():
    counter = Counter()
    batch = [call("count", n=n) for n in range(3)]
    result, _ = await run(work(counter.count), [batch, call("resolve", ok=True)], limits=Limits(tool_calls=3))
    assert (counter.ran, result.outcome) == (3, "done")


async def test_f05_a_reply_of_names_only_is_answered_by_id():
    nameless = AIMessage(
        "", tool_calls=[{"name": "nope", "args": {}, "id": "a"}, {"name": "nor", "args": {}, "id": "b"}]
    )
    _, model = await run(work(Search().search), [nameless, call("resolve", ok=True)])
    assert [answer.tool_call_id for answer in answers(model.requests[1])] == ["a", "b"]

"""Postgres: many threads at once, lost connections, a database that stays away, and one set up by many."""

import asyncio
from typing import Any

import pytest

from plait import RunError, ToolRuntime, Workflow, WorkflowUnit, step, tool
from plait.adapters import guarded
from plait.adapters.postgres import SHARDS
from plait.testing import ScriptedModel, call, text

from ..databases import administrate

ran: list[str] = []
TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid()"
)


@pytest.fixture(autouse=True)
def _nothing_ran_yet() -> None:
    ran.clear()


def name_of(url: str) -> str:
    return url.rpartition("?")[0].rpartition("/")[2]


def counted(name: str) -> Any:
    def function(snapshot: Any) -> str:
        ran.append(name)
        return f"{name} is done"

    return step(function, id=name)


def doing(name: str, *actions: Any) -> Any:
    """A step that does something to the database when it runs, once."""
    pending = list(actions)

    def function(snapshot: Any) -> str:
        ran.append(name)
        while pending:
            pending.pop(0)()
        return f"{name} is done"

    return step(function, id=name)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "PATIENCE_S", 1.0)


def away(server: str, url: str) -> Any:
    """What takes the database away and what brings it back."""
    name = name_of(url)

    def take() -> None:
        administrate(server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        administrate(server, TERMINATE.format(name))

    def bring() -> None:
        administrate(server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    return take, bring


async def test_f75_a_connection_terminated_between_two_steps_is_made_anew(server: str, postgres: str) -> None:
    drop = doing("drop", lambda: administrate(server, TERMINATE.format(name_of(postgres))))
    result = await Workflow(counted("one") >> drop >> counted("two"), checkpointer=postgres).run(
        "go", thread_id="t"
    )
    assert (result.outcome, ran) == ("done", ["one", "drop", "two"])


async def test_f75_idle_connections_that_died_are_replaced(server: str, postgres: str) -> None:
    unit = WorkflowUnit("chat", answer="text")
    workflow = Workflow(
        unit, model=ScriptedModel([text("one"), text("two")]), checkpointer=postgres, store=postgres
    )
    async with workflow:
        await workflow.run("go", thread_id="t")
        administrate(server, TERMINATE.format(name_of(postgres)))
        assert (await workflow.run("go", thread_id="t")).output == "two"


async def test_f75_a_database_that_comes_back_in_time_is_waited_for(server: str, postgres: str) -> None:
    take, bring = away(server, postgres)

    def leave() -> None:
        take()
        asyncio.get_running_loop().call_later(0.5, bring)

    async def function(snapshot: Any) -> str:
        leave()
        return "away"

    flow = counted("one") >> step(function, id="leave") >> counted("two")
    result = await Workflow(flow, checkpointer=postgres).run("go", thread_id="t")
    assert (result.outcome, ran) == ("done", ["one", "two"])


async def test_f75_a_database_that_stays_away_fails_the_run_with_what_it_did(
    server: str, postgres: str, impatient: None
) -> None:
    take, bring = away(server, postgres)
    workflow = Workflow(counted("one") >> doing("leave", take) >> counted("two"), checkpointer=postgres)
    with pytest.raises(RunError) as raised:
        await workflow.run("go", thread_id="t")
    bring()
    result = raised.value.result
    assert (raised.value.reason, result.outcome, result.reason) == ("store", "failed", "store")
    assert [step.output for step in result.steps] == ["one is done", "leave is done"]
    assert "resume the thread" in str(raised.value)


async def test_f75_the_thread_goes_on_when_the_database_is_back(
    server: str, postgres: str, impatient: None
) -> None:
    take, bring = away(server, postgres)
    workflow = Workflow(counted("one") >> doing("leave", take) >> counted("two"), checkpointer=postgres)
    with pytest.raises(RunError):
        await workflow.run("go", thread_id="t")
    bring()
    result = await workflow.resume("t")
    assert (result.output, ran) == ("two is done", ["one", "leave", "leave", "two"])


async def test_f75_a_unit_that_loses_its_database_keeps_its_rounds(
    server: str, postgres: str, impatient: None
) -> None:
    take, bring = away(server, postgres)
    actions = [lambda: None, take]

    @tool(effect="idempotent")
    def act() -> str:
        """Act."""
        ran.append("act")
        actions.pop(0)() if actions else None
        return "acted"

    script = [call("act"), call("act"), call("act"), call("resolve", value="done")]
    workflow = Workflow(WorkflowUnit("work", tools=[act]), model=ScriptedModel(script), checkpointer=postgres)
    with pytest.raises(RunError) as raised:
        await workflow.run("go", thread_id="t")
    bring()
    assert raised.value.reason == "store"
    assert (await workflow.resume("t")).output == "done"
    assert ran == ["act", "act", "act", "act"]


async def test_f75_an_effect_during_which_the_database_went_away_is_in_doubt(
    server: str, postgres: str, impatient: None
) -> None:
    take, bring = away(server, postgres)

    def act() -> str:
        """Act."""
        ran.append("act")
        take()
        return "acted"

    script = [call("act"), call("resolve", value="done")]
    workflow = Workflow(WorkflowUnit("work", tools=[act]), model=ScriptedModel(script), checkpointer=postgres)
    with pytest.raises(RunError) as raised:
        await workflow.run("go", thread_id="t")
    bring()
    assert raised.value.reason == "store"
    paused = await workflow.resume("t")
    assert (paused.outcome, paused.interrupts[0].question["tool"]) == ("paused", "act")
    assert (await workflow.resume("t", {"happened": "acted"})).output == "done"
    assert ran == ["act"]


async def test_a_stream_ends_with_the_failure_of_the_store(
    server: str, postgres: str, impatient: None
) -> None:
    take, bring = away(server, postgres)
    workflow = Workflow(counted("one") >> doing("leave", take), checkpointer=postgres)
    events = [event async for event in workflow.stream("go", thread_id="t")]
    bring()
    assert (events[-1].type, events[-1].outcome, events[-1].reason) == ("agent_end", "failed", "store")
    assert [step.path for step in events[-1].result.steps] == ["one", "leave"]


async def test_a_database_that_was_never_there_is_a_failure_of_the_store(
    postgres: str, impatient: None
) -> None:
    url = postgres.replace(name_of(postgres), "no_such_database")
    workflow = Workflow(counted("one"), checkpointer=url)
    with pytest.raises(RunError, match="opening the checkpoints") as raised:
        await workflow.run("go", thread_id="t")
    assert (raised.value.reason, ran) == ("store", [])
    with pytest.raises(RunError, match="opening the checkpoints"):
        async for _ in workflow.stream("go", thread_id="t"):
            pass


async def test_forty_threads_at_once_keep_apart(postgres: str) -> None:
    unit = WorkflowUnit("chat", answer="text")
    model = ScriptedModel(lambda request: text(f"You said {request.user}."))
    workflow = Workflow(unit, model=model, checkpointer=postgres, store=postgres)
    async with workflow:
        for turn in ("a", "b"):
            runs = [workflow.run(f"{turn}{n}", thread_id=f"t{n}") for n in range(40)]
            results = await asyncio.gather(*runs)
            assert [result.output for result in results] == [f"You said {turn}{n}." for n in range(40)]
    assert [message.text for message in results[7].messages] == ["a7", "You said a7.", "b7", "You said b7."]


async def test_a_thread_always_has_the_same_saver_and_threads_share_the_work(postgres: str) -> None:
    workflow = Workflow(counted("one"), checkpointer=postgres)

    async def saver(thread_id: str) -> Any:
        async with workflow.drive(thread_id) as drive:
            return drive.graph.checkpointer.inner

    async with workflow:
        assert await saver("t") is await saver("t")
        assert len({id(await saver(f"t{n}")) for n in range(200)}) == SHARDS


async def test_ten_workflows_may_set_up_one_new_database_at_once(postgres: str) -> None:
    made = [Workflow(counted(f"n{n}"), checkpointer=postgres, store=postgres) for n in range(10)]
    results = await asyncio.gather(*(one.run("go", thread_id=f"t{n}") for n, one in enumerate(made)))
    assert [result.outcome for result in results] == ["done"] * 10


async def test_global_keys_are_shared_by_threads_through_the_store(postgres: str) -> None:
    def put(runtime: ToolRuntime) -> str:
        """Put."""
        shared = runtime.shared.scope("global")
        shared.set("count", shared.get("count", 0) + 1)
        return str(shared.get("count"))

    model = ScriptedModel(
        lambda request: call("resolve", value=request.last.text) if request.tool_results else call("put")
    )
    workflow = Workflow(WorkflowUnit("work", tools=[put]), model=model, checkpointer=postgres, store=postgres)
    assert [(await workflow.run("go", thread_id=thread)).output for thread in "abc"] == ["1", "2", "3"]

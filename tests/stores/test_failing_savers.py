"""A SQLite file that stays locked, and savers of the user's own that fail: typed failures, nothing lost."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from plait import RunError, Workflow, WorkflowUnit, step
from plait.adapters import guarded, sqlite
from plait.testing import ScriptedModel, call, text


class Flaky(InMemorySaver):
    """Fails at each write of one kind from the given one on, until it is mended."""

    def __init__(self, good: int, kind: str = "aput") -> None:
        super().__init__()
        self.left = [good]
        self.kind = kind

    async def aput(self, *written: Any) -> Any:
        self.count("aput")
        return await super().aput(*written)

    async def aput_writes(self, *written: Any) -> None:
        self.count("aput_writes")
        await super().aput_writes(*written)

    def count(self, kind: str) -> None:
        self.left[0] -= kind == self.kind
        if self.left[0] < 0:
            raise ConnectionResetError("the wire is cut")


one = step(lambda snapshot: "one is done", id="one")


async def test_a_users_saver_that_fails_is_a_failure_of_the_store() -> None:
    saver = Flaky(good=3)
    workflow = Workflow(one >> step(lambda snapshot: "two", id="two"), checkpointer=saver)
    with pytest.raises(RunError, match="the wire is cut") as raised:
        await workflow.run("go", thread_id="t")
    assert raised.value.reason == "store"
    assert isinstance(raised.value.__cause__, ConnectionResetError)
    assert raised.value.result.steps[0].output == "one is done"
    saver.left[0] = 100
    assert (await workflow.resume("t")).output == "two"


async def test_f75_a_file_that_stays_locked_is_waited_for_and_then_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_S", 0.1)
    monkeypatch.setattr(guarded, "PATIENCE_S", 0.5)
    held: list[sqlite3.Connection] = []

    def lock(snapshot: Any) -> str:
        held.append(sqlite3.connect(tmp_path / "runs.db", check_same_thread=False))
        held[0].execute("BEGIN EXCLUSIVE")
        return "locked"

    flow = one >> step(lock, id="lock") >> step(lambda snapshot: "two", id="two")
    workflow = Workflow(flow, checkpointer=f"sqlite:///{tmp_path}/runs.db")
    with pytest.raises(RunError, match="database is locked") as raised:
        await workflow.run("go", thread_id="t")
    held.pop().close()
    assert raised.value.reason == "store"
    assert [done.path for done in raised.value.result.steps] == ["one", "lock"]


async def test_a_value_that_no_saver_can_write_is_no_failure_of_the_store() -> None:
    workflow = Workflow(one, checkpointer=InMemorySaver())
    with pytest.raises(TypeError, match="serializable"):
        await workflow.run([{"type": "text", "text": object()}], thread_id="t")


def chat(saver: Any) -> Workflow:
    """Two units; the second sees the conversation and says what it is asked."""
    rule = {
        "first": lambda request: call("resolve", value="a"),
        "second": lambda request: text(request.first_user),
    }
    second = WorkflowUnit("second", answer="text", input_adapter=lambda snapshot: snapshot.task)
    return Workflow(WorkflowUnit("first") >> second, model=ScriptedModel(rule), checkpointer=saver)


@pytest.mark.parametrize("good", range(12))
@pytest.mark.parametrize("kind", ["aput", "aput_writes"])
async def test_a_turn_that_breaks_off_at_any_write_is_known_as_such_and_goes_on(kind: str, good: int) -> None:
    saver = Flaky(100)
    await chat(saver).run("one", thread_id="t")
    saver.left[0], saver.kind = good, kind
    broken = False
    try:
        await chat(saver).run("two", thread_id="t")
    except RunError as error:
        broken = error.reason == "store"
    saver.left[0] = 100
    known = await chat(saver).thread("t").result()
    if known.outcome == "cancelled":
        assert broken
        known = await chat(saver).resume("t")
    elif len(known.messages) == 2:  # the turn was never taken
        assert (broken, known.output) == (True, "one")
        return
    assert (known.outcome, known.output) == ("done", "two")
    assert [message.text for message in known.messages] == ["one", "one", "two", "two"]
    assert [step.path for step in known.steps] == ["first", "second"]


@pytest.mark.parametrize("good", range(1, 5))
async def test_a_first_turn_that_breaks_off_before_it_began_goes_on_too(good: int) -> None:
    saver = Flaky(good)
    with pytest.raises(RunError):
        await chat(saver).run("one", thread_id="t")
    saver.left[0] = 100
    assert (await chat(saver).resume("t")).output == "one"

"""A run is stopped through its thread: from another process, another workflow object, or with no handle."""

import asyncio
from pathlib import Path

import pytest

from plait import PlaitError, Workflow, WorkflowUnit, tool
from plait.testing import ScriptedModel, call

from .processes import started, told, until

HELD = {"s": 60.0}
"""How long the tool takes."""


def workflow(url: str) -> Workflow:
    """The workflow of `programs/holder.py`; its tool ends by itself here."""

    @tool(effect="idempotent")
    async def work() -> str:
        """Do it."""
        await asyncio.sleep(HELD["s"])
        return "done"

    model = ScriptedModel({"unit": [call("work"), call("resolve", value="good")]})
    return Workflow(WorkflowUnit("unit", tools=[work]), model=model, checkpointer=url)


def test_a_run_is_cancelled_from_another_process(lasting_url: str, tmp_path: Path) -> None:
    process = started("holder", lasting_url, tmp_path, "run")
    until((tmp_path / "effects").exists)
    assert asyncio.run(workflow(lasting_url).thread("t").cancel()) is True
    assert told(process) == {"told": "cancelled"}
    (tmp_path / "go").touch()
    assert told(started("holder", lasting_url, tmp_path, "resume")) == {"told": "done"}


def test_a_run_is_drained_from_another_process(lasting_url: str, tmp_path: Path) -> None:
    process = started("holder", lasting_url, tmp_path, "run")
    until((tmp_path / "effects").exists)
    with pytest.raises(PlaitError, match=r"asked to drain and is not at its end after 1.5 s"):
        asyncio.run(workflow(lasting_url).thread("t").drain(timeout_s=1.5))
    (tmp_path / "go").touch()
    assert told(process) == {"told": "paused"}
    assert told(started("holder", lasting_url, tmp_path, "resume")) == {"told": "done"}
    assert len((tmp_path / "effects").read_text().splitlines()) == 1


async def stopped(running: Workflow) -> None:
    """Cancel the run of the thread, as soon as there is one."""
    while not await running.thread("t").cancel():  # noqa: ASYNC110 - it may not have begun
        await asyncio.sleep(0.05)


async def test_a_run_without_a_handle_is_cancelled_by_its_thread(saver_url: str) -> None:
    running = workflow(saver_url)
    work = asyncio.ensure_future(running.run("go", thread_id="t"))
    await stopped(running)
    result = await work
    assert (result.outcome, result.reason) == ("cancelled", "interrupted")
    assert await running.thread("t").cancel() is False
    assert asyncio.current_task().cancelling() == 0


async def test_a_request_to_stop_is_for_the_run_that_it_met(
    saver_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = workflow(saver_url)
    first = running.start("go", thread_id="t")
    await stopped(running)
    assert (await first.result()).outcome == "cancelled"
    monkeypatch.setitem(HELD, "s", 2.5)
    assert (await running.resume("t")).outcome == "done"

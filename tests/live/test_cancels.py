"""Cancels at random moments of generated flows leave nothing behind; `make cancels` does a thousand."""

import asyncio
import os
import random
import threading
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from plait import Workflow, WorkflowUnit
from plait.testing import Request, ScriptedModel, call

from ..flows import generated
from .balance import imbalance

CANCELS = int(os.environ.get("CANCELS", "40"))
SOAK = settings(
    max_examples=CANCELS,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=CANCELS <= 40,
)


async def child() -> str:
    """Run a child process, and end it when the call is given up."""
    process = await asyncio.create_subprocess_exec("sleep", "0.05")
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return "the child ended"


def pause() -> str:
    """Wait in a thread."""
    threading.Event().wait(0.01)
    return "waited"


def reply(request: Request) -> Any:
    if "child" in request.tools and not request.tool_results:
        return [call("child"), call("pause"), call("pause")]
    return generated.reply(request)


def children() -> list[str]:
    """The processes that this one has started and that still are there."""
    own = Path(f"/proc/self/task/{os.getpid()}/children")
    return own.read_text().split()


def open_files() -> set[str]:
    """What the open files of this process are; pipes and sockets by number."""
    found = set()
    for entry in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{entry} {os.readlink(f'/proc/self/fd/{entry}')}")
        except FileNotFoundError:
            continue  # the folder itself, which was open while it was listed
    return found


def idle() -> set[threading.Thread]:
    """The threads of the loop's own pool, which stay for the next call, and end with the loop."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("asyncio_")}


async def cancelled(flow: Any, folder: Path, after_s: float) -> None:
    way, url = generated.Way(seed=random.randrange(1000)), f"sqlite:///{folder}/runs.db"
    worker = WorkflowUnit("worker", tools=[child, pause], output=str)
    model = ScriptedModel(reply, delay_s=lambda request: way.wait_s(str(request.path)))
    workflow = Workflow(worker >> flow, model=model, checkpointer=url)
    before, threads = asyncio.all_tasks(), set(threading.enumerate())
    files, started = open_files(), children()
    run = workflow.start("go", thread_id=str(random.random()), context=way)
    await asyncio.sleep(after_s)
    await run.cancel()
    result = await generated.result_of(run.result())
    async with asyncio.timeout(30):
        # a store's thread ends just after its close
        while set(threading.enumerate()) - idle() - threads:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert asyncio.all_tasks() == before
    assert children() == started
    assert open_files() <= files
    assert {one.name for one in result.lingering} <= {"pause"}
    assert imbalance([event async for event in run.events()]) == []


def test_cancels_at_random_moments_leave_nothing_behind(tmp_path: Path) -> None:
    moments, there, before = random.Random(CANCELS), idle(), children()
    outcomes: list[str] = []

    @SOAK
    @given(generated.flows)
    def soak(flow: Any) -> None:
        asyncio.run(cancelled(flow, tmp_path, moments.choice([0, 0.001, 0.12]) * moments.random()))
        outcomes.append("ended")

    soak()
    assert len(outcomes) >= CANCELS
    assert children() == before
    assert idle() <= there

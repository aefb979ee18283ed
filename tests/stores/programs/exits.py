"""Ways to leave with something open: `exits.py URL WAY`. Each must let the interpreter exit."""

import asyncio
import json
import sys
import threading
from typing import Any

from plait import Workflow, WorkflowUnit
from plait.testing import ScriptedModel, text

url, way = sys.argv[1:3]
model = ScriptedModel([text("hello")] * 3, delay_s=30 if way == "cancelled" else 0)
workflow = Workflow(WorkflowUnit("chat", answer="text"), model=model, checkpointer=url, store=url)


async def cancelled() -> None:
    run = workflow.start("go", thread_id="t")
    async for event in run.events():
        if event.type == "message_start":
            break
    await run.cancel()


async def abandoned() -> None:
    """The run is still under way when the loop ends."""
    run = workflow.start("go", thread_id="t")
    async for event in run.events():
        if event.type == "message_start":
            break


async def kept_open() -> None:
    async with workflow:
        await workflow.run("go", thread_id="t")


ways: dict[str, Any] = {
    "sync": lambda: workflow.run_sync("go", thread_id="t"),
    "cancelled": lambda: asyncio.run(cancelled()),
    "abandoned": lambda: asyncio.run(abandoned()),
    "kept-open": lambda: asyncio.run(kept_open()),
}
ways[way]()
for thread in threading.enumerate():
    if thread is not threading.main_thread() and not thread.daemon:
        thread.join(5)  # a connection that is closed has told so a moment before its thread ends
others = [thread.name for thread in threading.enumerate() if not thread.daemon]
print(json.dumps({"threads": others}))

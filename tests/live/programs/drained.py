"""One run that a signal stops: `drained.py URL FOLDER sync|async|own|resume`. Prints the outcome as JSON.

Both units note in FOLDER that their tool runs, which ends when there is a file `go`. `own` has a handler of
its own for SIGTERM, which says so.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

from plait import Workflow, WorkflowUnit, draining, tool
from plait.testing import ScriptedModel, call

url, folder, way = sys.argv[1], Path(sys.argv[2]), sys.argv[3]


@tool(effect="idempotent")
async def work(who: str) -> str:
    """Do it."""
    with (folder / "effects").open("a") as effects:
        effects.write(f"{who}\n")
    while not (folder / "go").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return "done"


def reply(request: Any) -> Any:
    return call("resolve", value="good") if request.tool_results else call("work", who=str(request.unit))


first, second = (WorkflowUnit(name, tools=[work], output=str) for name in ("first", "second"))
workflow = Workflow(first >> second, model=ScriptedModel(reply), checkpointer=url)


async def watched() -> str:
    run = workflow.start("go", thread_id="t")
    with draining(run):
        outcome = (await run.result()).outcome
        (folder / "outcome").write_text(outcome)
    return outcome


def ran() -> str:
    if way == "async":
        return asyncio.run(watched())
    if way == "own":
        signal.signal(signal.SIGTERM, lambda *_: (folder / "handled").touch())
    if way == "resume":
        return workflow.resume_sync("t").outcome
    return workflow.run_sync("go", thread_id="t").outcome


print(json.dumps({"outcome": ran()}), flush=True)

"""Runs or resumes one thread: `holder.py URL FOLDER run|resume|queue`. Prints what came of it as JSON.

The unit's tool notes in FOLDER that it runs, and ends when there is a file `go` in it.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from plait import RunError, ThreadBusy, Workflow, WorkflowUnit, tool
from plait.testing import ScriptedModel, call

url, folder, way = sys.argv[1], Path(sys.argv[2]), sys.argv[3]


@tool(effect="idempotent")
async def work() -> str:
    """Do it."""
    with (folder / "effects").open("a") as effects:
        effects.write(f"{os.getpid()}\n")
    while not (folder / "go").exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    return "done"


model = ScriptedModel({"unit": [call("work"), call("resolve", value="good")]})
workflow = Workflow(WorkflowUnit("unit", tools=[work]), model=model, checkpointer=url)


async def main() -> str:
    try:
        if way == "run":
            return (await workflow.run("go", thread_id="t")).outcome
        return (await workflow.resume("t", queue=way == "queue")).outcome
    except ThreadBusy as busy:
        return str(busy)
    except RunError as error:
        return str(error.reason)


print(json.dumps({"told": asyncio.run(main())}), flush=True)

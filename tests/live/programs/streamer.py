"""Runs one thread with a unit that waits twice for its files: `streamer.py URL FOLDER run|resume`."""

import asyncio
import json
import sys
from pathlib import Path

from plait import Workflow, WorkflowUnit, tool
from plait.testing import ScriptedModel, call, text

url, folder, way = sys.argv[1], Path(sys.argv[2]), sys.argv[3]


@tool(effect="idempotent")
async def wait(name: str) -> str:
    """Wait for a file."""
    while not (folder / name).exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    return f"there is {name}"


replies = {
    "first": [call("wait", name="one"), call("wait", name="two"), call("resolve", value="good")],
    "second": [text("a reply of some length that is streamed")],
}
flow = WorkflowUnit("first", tools=[wait]) >> WorkflowUnit("second", answer="text")
workflow = Workflow(flow, model=ScriptedModel(replies), checkpointer=url)


async def main() -> str:
    result = await (workflow.run("go", thread_id="t") if way == "run" else workflow.resume("t", queue=True))
    return result.outcome


if __name__ == "__main__":
    print(json.dumps({"told": asyncio.run(main())}), flush=True)

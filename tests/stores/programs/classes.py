"""A value whose class changes between two processes: `classes.py URL FOLDER ACTION WHERE`.

FOLDER holds the module `shapes`; WHERE is `state` or `output`.
"""

import asyncio
import json
import sys
from typing import Any

url, folder, action = sys.argv[1:4]
sys.path.insert(0, folder)

import shapes  # noqa: E402

from plait import ClassChanged, ToolRuntime, Workflow, WorkflowUnit, step  # noqa: E402
from plait.testing import ScriptedModel, call  # noqa: E402


def write(runtime: ToolRuntime) -> str:
    """Write a shape."""
    runtime.shared.set("shape", shapes.Circle(2))
    return "written"


def ask(runtime: ToolRuntime) -> str:
    """Ask the user."""
    return str(runtime.ask("go on?"))


where = sys.argv[4]
script = {
    "asker": [call("ask"), call("resolve", value="asked")],
    "writer": [call("write"), call("resolve", value="w")],
}
first = (
    WorkflowUnit("writer", tools=[write]) if where == "state" else step(lambda _: shapes.Circle(2), id="made")
)
workflow = Workflow(
    first >> WorkflowUnit("asker", tools=[ask]), model=ScriptedModel(script), checkpointer=url
)


async def main() -> dict[str, Any]:
    raised: list[str] = []
    try:
        if action == "run":
            await workflow.run("go", thread_id="t")
        elif action == "resume":
            await workflow.resume("t", "yes")
        else:
            await workflow.run("again", thread_id="t", abandon=True)
    except ClassChanged as error:
        raised = [error.key, error.class_name, str(error)]
    history = await workflow.thread("t").history()
    return {
        "raised": raised,
        "checkpoints": [point.id for point in history],
    }


print(json.dumps(asyncio.run(main())))

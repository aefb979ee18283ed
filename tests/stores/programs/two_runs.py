"""Two runs on one file among many processes: `two_runs.py URL NUMBER`."""

import asyncio
import json
import sys

from plait import ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, text

url, number = sys.argv[1:3]


def note(n: int, runtime: ToolRuntime) -> str:
    """Note a number."""
    runtime.shared.set(f"n{n}", n)
    runtime.shared.scope("global").set(f"{number}.{n}", n)
    return "noted"


replies = [[call("note", n=1), call("note", n=2)], call("note", n=3), call("resolve", value="done")]
flow = WorkflowUnit("before", answer="text") >> WorkflowUnit("work", tools=[note])


async def one(run: int) -> str:
    model = ScriptedModel({"before": [text("hello")], "work": replies})
    workflow = Workflow(flow, model=model, checkpointer=url, store=url)
    result = await workflow.run("go", thread_id=f"{number}-{run}")
    assert result.state == {"n1": 1, "n2": 2, "n3": 3}
    return result.outcome


async def main() -> list[str]:
    return await asyncio.gather(one(1), one(2))


print(json.dumps({"outcomes": asyncio.run(main())}))

"""A unit of several tool calls, one of which waits to be let go; and who sends it messages meanwhile.

`steered.py URL FOLDER run|resume [CALL]` runs it, waiting in the call with that number once.
`steered.py URL FOLDER steer|follow_up ADDRESS TEXT` sends a message. Prints what came of it as JSON.
"""

import json
import sys
import time
from pathlib import Path

from plait import ParallelFlow, Workflow, WorkflowUnit, tool
from plait.testing import Request, ScriptedModel, call

url, folder, action, *rest = sys.argv[1:]
waiting, go = Path(folder) / "waiting", Path(folder) / "go"
CALLS = 4


@tool(effect="idempotent")
def work(n: int) -> str:
    """Work."""
    if rest == [str(n)] and not go.exists():
        waiting.touch()
        while not go.exists():
            time.sleep(0.01)
    return f"worked {n}"


def reply(request: Request) -> object:
    if request.unit == "other":
        return call("resolve", value="other is done")
    called = sum(message.type == "tool" and message.name == "work" for message in request.messages)
    return call("work", n=called + 1) if called < CALLS else call("resolve", value="done")


model = ScriptedModel(reply)
flow = ParallelFlow(WorkflowUnit("u", tools=[work]), WorkflowUnit("other"))
workflow = Workflow(flow, model=model, checkpointer=url)
if action in ("steer", "follow_up"):
    send = workflow.steer_sync if action == "steer" else workflow.follow_up_sync
    print(json.dumps({"sent": send("t", *rest).id}))
    sys.exit()
started = {"run": lambda: workflow.run_sync("Go.", thread_id="t")}
result = started.get(action, lambda: workflow.resume_sync("t", queue=True))()
asked = [[message.text for message in each.messages] for each in model.requests if each.unit == "u"]
told = {
    "outcome": result.outcome,
    "asked": asked,
    "bus": [message.content for message in result.bus if message.type in ("steering", "followup")],
    "undelivered": [item.text for item in result.undelivered],
}
print(json.dumps(told))

"""Three units, the third of which kills its own process inside a tool, once."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from plait import LoopFlow, NothingToResume, RouterFlow, RunError, ToolRuntime, Workflow, WorkflowUnit, tool
from plait.testing import ScriptedModel, call, text

folder, shape, step = sys.argv[1:4]
log, killed = Path(folder) / "effects.log", Path(folder) / "killed"


def effect(name: str, runtime: ToolRuntime) -> str:
    """Do something and note it."""
    with log.open("a") as file:
        file.write(f"{name}\n")
    runtime.shared.scope("session").set(name, runtime.tool_call_id)
    return f"did {name}"


@tool(effect="idempotent")
def deadly(name: str) -> str:
    """Kill the process the first time, after its neighbours had time to end."""
    if not killed.exists():
        killed.touch()
        time.sleep(0.6 if shape == "calls" else 0)
        os.kill(os.getpid(), signal.SIGKILL)
    with log.open("a") as file:
        file.write(f"{name}\n")
    return f"did {name}"


def script_of(name: str) -> list[object]:
    return [call("effect", name=name), call("resolve", value=f"{name} is done")]


a, b, c = (WorkflowUnit(name, tools=[effect, deadly]) for name in ("a", "b", "c"))
fresh = WorkflowUnit("fresh", answer="text", conversation=True)
script = {"a": script_of("a"), "b": script_of("b"), "pick": [call("resolve", value="work")]}
script["c"] = [call("effect", name="c"), call("deadly", name="last"), call("resolve", value="c is done")]
flow = a >> b >> c
if shape == "nested":
    flow = a >> LoopFlow(RouterFlow(WorkflowUnit("pick"), {"work": b >> c, "rest": WorkflowUnit("rest")}))
if shape == "calls":
    flow = c
    several = [call("effect", name="one"), call("effect", name="two"), call("deadly", name="last")]
    script["c"] = [several, call("resolve", value="c is done")]
if step == "new-turn":
    script = {name: [call("resolve", value=f"{name} again")] for name in "abc"}
    script["fresh"] = [text("hello")]
model = ScriptedModel(script)
workflow = Workflow(flow, model=model, checkpointer=f"sqlite:///{folder}/runs.db")
try:
    result = workflow.resume_sync("t") if step == "resume" else workflow.run_sync(step, thread_id="t")
except (RunError, NothingToResume) as error:
    sys.exit(f"{type(error).__name__}: {error}")
print(
    json.dumps(
        {
            "outcome": result.outcome,
            "output": result.output,
            "steps": [record.path for record in result.steps],
            "asked": [request.path for request in model.requests],
            "effects": log.read_text().split(),
            "held": [[message.type, message.text] for message in model.requests[0].messages],
            "messages": [[message.type, message.text] for message in result.messages],
            "tool_calls": [[made.name, made.output] for made in result.steps[-1].tool_calls],
        }
    )
)

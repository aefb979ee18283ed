"""A sequence in a router in a loop: its third unit fails in one process and is mended in the next."""

import json
import sys
from pathlib import Path

from plait import Limits, LoopFlow, RouterFlow, RunError, SequentialFlow, ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, fail

folder, shape, step = sys.argv[1:4]
log = Path(folder) / "effects.log"


def effect(name: str, runtime: ToolRuntime) -> str:
    """Do something that must not be done twice."""
    with log.open("a") as file:
        file.write(f"{name}\n")
    runtime.shared.set(name, True)
    return f"did {name}"


a, b, c = (WorkflowUnit(name, tools=[effect]) for name in ("a", "b", "c"))
sequence = SequentialFlow(a, b, c)
flows = {
    "flat": sequence,
    "nested": LoopFlow(
        RouterFlow(WorkflowUnit("pick"), {"work": sequence, "rest": WorkflowUnit("rest")}), max_iterations=2
    ),
}


def unit_script(name: str) -> list[object]:
    return [call("effect", name=name), call("resolve", value=f"{name} is done")]


script = {name: unit_script(name) for name in ("a", "b")}
script["pick"] = [call("resolve", value="work")]
script["c"] = [call("effect", name="c"), fail(ConnectionError("the line is dead"))]
if step == "resume":
    script = {"c": [call("effect", name="c"), call("resolve", value="c is done")]}
model = ScriptedModel(script)
workflow = Workflow(
    flows[shape],
    model=model,
    checkpointer=f"sqlite:///{folder}/runs.db",
    limits=Limits(model_calls=6 if shape == "flat" else 7),
)

raised = None
try:
    result = workflow.resume_sync("t") if step == "resume" else workflow.run_sync("go", thread_id="t")
except RunError as error:
    raised, result = [error.path, error.reason, str(error)], error.result
print(
    json.dumps(
        {
            "raised": raised,
            "outcome": result.outcome,
            "output": None if raised else result.output,
            "steps": [[record.path, record.status] for record in result.steps],
            "asked": [request.path for request in model.requests],
            "held": [[message.type, message.text] for message in model.requests[0].messages],
            "effects": log.read_text().split(),
            "state": sorted(result.state),
            "model_calls": result.usage.model_calls,
        }
    )
)

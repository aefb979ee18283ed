"""One step of a thread in a process of its own, through the sync entry points: `threads.py URL STEP`."""

import json
import sys

from plait import RunError, ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, fail, text

url, step = sys.argv[1:3]


def note(runtime: ToolRuntime) -> str:
    """Write bytes and other values to every scope there is."""
    runtime.shared.set("blob", bytes(range(256)))
    runtime.shared.scope("session").set("seen", {"pen", "ink"})
    runtime.shared.scope("global").set("price", 3)
    return "noted"


def recall(runtime: ToolRuntime) -> dict[str, object]:
    """What can be read now."""
    shared = runtime.shared
    return {
        "blob": shared.get("blob") == bytes(range(256)),
        "seen": sorted(shared.scope("session").get("seen", ())),
        "price": shared.scope("global").get("price"),
    }


def ask(runtime: ToolRuntime) -> str:
    """Ask the user."""
    return f"the user says {runtime.ask('how much?')}"


SCRIPTS = {
    "first": [call("note"), call("resolve", value="It is noted.")],
    "second": [call("recall"), call("resolve", value="I know.")],
    "fail": [call("note"), fail(ConnectionError("the line is dead"))],
    "mend": [call("note"), call("resolve", value="mended")],
    "pause": [call("ask"), call("resolve", value="booked")],
}
SCRIPTS["answer"] = SCRIPTS["pause"]
unit = WorkflowUnit("work", tools=[note, recall, ask], conversation=True)
model = ScriptedModel({"before": [text(f"before {step}")], "work": SCRIPTS[step]})
flow = WorkflowUnit("before", answer="text") >> unit
workflow = Workflow(flow, model=model, checkpointer=url, store=url)
raised = None
try:
    if step in ("mend", "answer"):
        result = workflow.resume_sync("t", *([32] if step == "answer" else []))
    else:
        result = workflow.run_sync(f"the {step} task", thread_id="t")
except RunError as error:
    raised, result = str(error), error.result
print(
    json.dumps(
        {
            "raised": raised,
            "outcome": result.outcome,
            "output": result.output if result.outcome == "done" else None,
            "questions": [question.question for question in result.interrupts],
            "asked": [request.unit for request in model.requests],
            "told": [call.output for call in result.steps[-1].tool_calls],
            "said": [message.text for message in result.messages],
        }
    )
)

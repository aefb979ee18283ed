"""Two turns on one thread: the first notes things at every place, the second looks for them."""

import json
import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import TypedDict

from plait import RunError, ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, fail, text

folder, turn = sys.argv[1:3]


@dataclass
class Price:
    amount: Decimal
    currency: str = "EUR"


class Shared(TypedDict, total=False):
    price: Price
    tags: set[str]
    note: str


def note(runtime: ToolRuntime) -> str:
    """Write one value to every scope."""
    runtime.shared.set("price", Price(Decimal("3.20")))
    runtime.shared.set("tags", {"a", "b"})
    runtime.shared.scope("session").set("seen", "pen")
    runtime.shared.scope("unit").set("own", "mine")
    return "noted"


def recall(runtime: ToolRuntime) -> dict[str, object]:
    """What can be read now."""
    shared = runtime.shared
    return {
        "price": repr(shared.get("price")),
        "tags": sorted(shared.get("tags", ())),
        "seen": shared.scope("session").get("seen"),
        "own": shared.scope("unit").get("own"),
        "outputs": sorted(shared.scope("outputs")),
        "steps": [step.path for step in runtime.snapshot.steps],
    }


SCRIPTS = {
    "first": {"writer": [call("note"), call("resolve", value="It is noted.")], "last": [text("bye")]},
    "second": {"writer": [call("recall"), call("resolve", value="I know.")], "last": [text("bye again")]},
    "failing": {"writer": [fail(RuntimeError("no connection"))]},
}
writer = WorkflowUnit(
    "writer",
    prompt="Write.",
    tools=[note, recall],
    conversation=turn != "second-alone",
)
last = WorkflowUnit("last", answer="text")
model = ScriptedModel(SCRIPTS[turn.partition("-")[0]])
workflow = Workflow(writer >> last, model=model, state=Shared, checkpointer=f"sqlite:///{folder}/runs.db")
raised = None
try:
    result = workflow.run_sync(f"the {turn} task", thread_id="t")
except RunError as error:
    raised, result = str(error), error.result
print(
    json.dumps(
        {
            "raised": raised,
            "outcome": result.outcome,
            "output": result.output if raised is None else None,
            "steps": [step.path for step in result.steps],
            "model_calls": result.usage.model_calls,
            "bus": [message.type for message in result.bus],
            "state": sorted(result.state),
            "said": [[message.type, message.text] for message in result.messages],
            "request": [[message.type, message.text] for message in model.requests[0].messages],
            "recalled": [call.output for step in result.steps for call in step.tool_calls],
            "stored_output": result.stored.plain,
        }
    )
)

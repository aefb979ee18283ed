"""One unit whose tool does something and then, once, kills its process before anybody can note it."""

import json
import os
import signal
import sys
from pathlib import Path

from plait import Workflow, WorkflowUnit, tool
from plait.testing import ScriptedModel, call

folder, url, effect, step = sys.argv[1:5]
log, killed = Path(folder) / "effects.log", Path(folder) / "killed"


def note(name: str) -> None:
    with log.open("a") as file:
        file.write(f"{name}\n")


def pay(amount: int) -> str:
    """Pay, which nobody wants twice."""
    if effect != "before":
        note(f"pay {amount}")
    if not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if effect == "before":
        note(f"pay {amount}")
    return f"paid {amount}"


def was_paid(amount: int) -> str | None:
    """What the bank says."""
    return f"the bank says: paid {amount}" if log.exists() and f"pay {amount}" in log.read_text() else None


def look(name: str) -> str:
    """Look, which changes nothing."""
    note(f"look {name}")
    return "seen"


declared = {"probe": {"probe": was_paid}, "before": {"probe": was_paid}, "unsafe": {}}.get(
    effect, {"effect": effect}
)
unit = WorkflowUnit("payer", tools=[tool(pay, **declared), tool(look, effect="read")])
calls = (
    [call("pay", amount=10), call("look", name="a")] if step.startswith("several") else call("pay", amount=10)
)
model = ScriptedModel({"payer": [calls, call("pay", amount=20), call("resolve", value="all paid")]})
workflow = Workflow(unit, model=model, checkpointer=url)


async def main() -> dict[str, object]:
    thread = workflow.thread("t")
    if step == "plan":
        plan = await thread.resume_plan()
        return {"in_doubt": [[d.path, d.tool, d.args, d.effect] for d in plan.in_doubt], "rerun": plan.rerun}
    if step.endswith("run"):
        result = await workflow.run("pay", thread_id="t")
    elif len(sys.argv) > 5:
        (question,) = await thread.interrupts()
        result = await workflow.resume("t", {question.id: json.loads(sys.argv[5])})
    else:
        result = await workflow.resume("t")
    return {
        "outcome": result.outcome,
        "output": result.output if result.outcome == "done" else None,
        "questions": [[q.path, q.question] for q in result.interrupts],
        "open": len(await thread.interrupts()),
        "effects": log.read_text().splitlines(),
        "calls": [[made.name, made.output, made.ok, made.rerun] for made in result.steps[-1].tool_calls]
        if result.steps
        else [],
        "asked": len(model.requests),
    }


import asyncio  # noqa: E402

print(json.dumps(asyncio.run(main())))

"""A tool that asks, pays, and then, once, kills its process."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from plait import ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call

folder, granularity, answer = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
log = folder / "effects.log"


def pay(amount: int, runtime: ToolRuntime) -> str:
    """Pay somebody."""
    who = runtime.ask("who gets it?")
    with log.open("a") as file:
        file.write(f"{amount} to {who}\n")
    if len(log.read_text().splitlines()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {who}"


unit = WorkflowUnit("payer", tools=[pay], output=str)
model = ScriptedModel([call("pay", amount=10), call("resolve", value="done")])
workflow = Workflow(unit, model=model, checkpointer=f"sqlite:///{folder}/runs.db", granularity=granularity)


async def main() -> dict[str, object]:
    if answer is None:
        result = await workflow.run("pay", thread_id="t")
    else:
        (question,) = await workflow.thread("t").interrupts()
        result = await workflow.resume("t", {question.id: answer})
    kinds = [asked.kind for asked in result.interrupts]
    return {"outcome": result.outcome, "kinds": kinds, "effects": log.read_text() if log.exists() else ""}


print(json.dumps(asyncio.run(main())))

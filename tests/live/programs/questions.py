"""Ask and answer in processes of their own: `questions.py URL ask` pauses, `questions.py URL ID=ANSWER …`
answers. Prints the open questions and the output as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from plait import ParallelFlow, Snapshot, ToolRuntime, Workflow, WorkflowUnit, approve, ask, step, tool
from plait.testing import ScriptedModel, call


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def sign(who: str, runtime: ToolRuntime) -> str:
    """Have something signed."""
    return f"signed by {runtime.ask(f'{who}?')}"


def check(snapshot: Snapshot) -> str:
    return f"checked: {ask('all well?')}"


def made(url: str) -> Workflow:
    script: dict[str, Any] = {
        "clerk": [[call("pay", amount=3), call("sign", who="mei")], call("resolve", value="booked")],
        "near": [call("resolve", value="near")],
    }
    clerk = WorkflowUnit("clerk", output=str, tools=[pay, sign])
    near = WorkflowUnit("near", output=str)
    inner = ParallelFlow(ParallelFlow(clerk, step(check)), near)
    return Workflow(inner, model=ScriptedModel(script), checkpointer=url)


async def main(url: str, *answers: str) -> None:
    async with made(url) as workflow:
        if answers == ("ask",):
            result = await workflow.run("go", thread_id="t")
        else:
            given = dict(answer.split("=") for answer in answers)
            told = {key: approve(by=value) if value == "mei" else value for key, value in given.items()}
            result = await workflow.resume("t", told)
    asked = [[question.id, question.path, question.kind] for question in result.interrupts]
    done = result.outcome == "done"
    print(json.dumps({"asked": asked, "output": result.output if done else None}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""A call that a person approves, in a process that is killed inside it, or right `later`."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from plait import PlaitError, Workflow, WorkflowUnit, approve, edit, reject, tool
from plait.adapters.journals import TableJournal
from plait.core.ports import JournalEntry
from plait.testing import ScriptedModel, call, text

folder, url, granularity = sys.argv[1:4]
answer, when = (*sys.argv[4:], "", "")[:2]
log, killed = Path(folder) / "effects.log", Path(folder) / "killed"
ANSWERS = {
    "approve": approve(),
    "edit": edit({"amount": 7}),
    "reject": reject("no"),
    "happened": {"happened": "it was paid"},
}


def die_once() -> None:
    if not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay, which nobody wants twice."""
    with log.open("a") as file:
        file.write(f"pay {amount}\n")
    if when != "later":
        die_once()
    return f"paid {amount}"


write = TableJournal.write


async def write_and_die(journal: TableJournal, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
    """Die once it is known that the call is done, before its checkpoint is written."""
    await write(journal, thread_id, entries)
    if any(entry.state == "done" and "decided" in (entry.result or {}) for entry in entries.values()):
        die_once()


if when == "later":
    TableJournal.write = write_and_die  # type: ignore[method-assign]

unit = WorkflowUnit("payer", tools=[pay], answer="text")
model = ScriptedModel([call("pay", amount=10), text("all paid")])
workflow = Workflow(unit, model=model, checkpointer=url, granularity=granularity)


async def main() -> dict[str, object]:
    thread = workflow.thread("t")
    if not answer:
        result = await workflow.run("pay", thread_id="t")
    elif answer == "nothing":
        result = await workflow.resume("t")
    else:
        (question,) = await thread.interrupts()
        try:
            result = await workflow.resume("t", {question.id: ANSWERS.get(answer, answer)})
        except PlaitError as error:
            return {"refused": str(error)}
    (made,) = [made for step in result.steps for made in step.tool_calls] or [None]
    return {
        "outcome": result.outcome,
        "kinds": [question.kind for question in result.interrupts],
        "effects": log.read_text().splitlines() if log.exists() else [],
        "said": made.output if made else "",
        "decided": (made.decision or {}).get("type") if made else "",
    }


print(json.dumps(asyncio.run(main())))

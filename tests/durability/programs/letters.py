"""A, B, C append their letters to a file; the process is killed inside one of them, once."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from plait import ParallelFlow, Workflow, WorkflowUnit, tool
from plait.testing import ScriptedModel, call

folder, url, shape, effect, step = Path(sys.argv[1]), *sys.argv[2:6]
log, killed = folder / "letters", folder / "killed"
last = "B" if shape == "parallel" else "C"


def append(letter: str) -> str:
    """Append a letter to the file."""
    with log.open("a") as file:
        file.write(letter)
    if letter == last and not killed.exists():
        killed.touch()
        time.sleep(0.5 if shape == "parallel" else 0)
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{letter} is written"


made = append if effect == "undeclared" else tool(append, effect=effect)
a, b, c = (WorkflowUnit(letter, tools=[made], output=str) for letter in "ABC")
flow: Any = ParallelFlow(a, b) if shape == "parallel" else a >> b >> c
script = {
    letter: [call("append", letter=letter), call("resolve", value=f"{letter} done")] for letter in "ABC"
}
workflow = Workflow(flow, model=ScriptedModel(script), checkpointer=url)


async def main() -> dict[str, Any]:
    if step == "run":
        result = await workflow.run("go", thread_id="t")
    else:
        result = await workflow.resume("t")
        if result.outcome == "paused":
            result = await workflow.resume("t", {"happened": f"{last} is written"})
    rerun = [made_call.name for record in result.steps for made_call in record.tool_calls if made_call.rerun]
    return {"letters": log.read_text(), "output": result.output, "rerun": rerun}


print(json.dumps(asyncio.run(main())))

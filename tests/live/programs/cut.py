"""A thread whose first turn is cut while a tool runs: `cut.py URL FOLDER KIND first|again`.

`first` notes in FOLDER when its slow tool runs, and goes on until the process is killed; `again` is a new
turn on the same thread. Prints as JSON what came of it, and what the unit was sent.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from plait import DAGFlow, DelegationFlow, LoopFlow, ParallelFlow, Snapshot, Workflow, WorkflowUnit, step
from plait.nodes.history import history_faults
from plait.testing import Request, ScriptedModel, call

KINDS = ("unit", "sequential calls", "parallel", "superstep", "loop", "dag", "map", "delegation", "nested")
"""Where the unit stands whose turn is cut."""


class Tools:
    """`fast` ends at once, `slow` when the process ends; both note in a folder that they ran, `slow` only
    when there was time to keep what `fast` gave."""

    def __init__(self, folder: Path, pause_s: float = 0.0) -> None:
        self.folder, self.pause_s = folder, pause_s

    async def fast(self) -> str:
        """Look at something near."""
        self.note("fast")
        return "what is near"

    async def slow(self) -> str:
        """Look at something far."""
        await asyncio.sleep(self.pause_s)
        self.note("slow")
        (self.folder / "running").touch()
        await asyncio.sleep(600)
        return "what is far"

    def note(self, name: str) -> None:
        with (self.folder / name).open("a") as notes:
            notes.write("ran\n")


def flow(kind: str, tools: Tools) -> Any:
    """A flow of the given kind around the unit `looker`."""
    order: Any = "sequential" if kind == "sequential calls" else "parallel"
    unit = WorkflowUnit(
        "looker", tools=[tools.fast, tools.slow], memory="thread", output=str, tool_execution=order
    )
    other = WorkflowUnit("other", memory="thread", output=str)
    last = step(lambda s: "end", id="last")
    made = {
        "parallel": ParallelFlow(unit, other) >> last,
        "superstep": ParallelFlow(unit, other, scheduling="superstep") >> last,
        "loop": LoopFlow(other >> unit, 2, until=is_second),
        "dag": DAGFlow(None, {"looker": unit, "other": other}, None, {"looker": ["other"]}),
        "map": ParallelFlow.map(unit, over=lambda s: ["one thing"]),
        "delegation": DelegationFlow(WorkflowUnit("boss", memory="thread", output=str), [unit]),
        "nested": ParallelFlow(LoopFlow(DAGFlow(None, {"looker": unit}, None, {}), 1), other) >> last,
    }
    return made.get(kind, unit)


def is_second(snapshot: Snapshot) -> bool:
    return snapshot.path.endswith("[2]")


def reply(request: Request) -> Any:
    """The boss delegates its task, the unit calls both tools in the first turn; all else resolves."""
    if request.unit == "boss" and not request.tool_results:
        return call("delegate_to_looker", task=request.user)
    if request.unit == "looker" and request.user.startswith("first") and not request.tool_results:
        return [call("fast"), call("slow")]
    return call("resolve", value="seen")


def sent(model: ScriptedModel) -> dict[str, Any]:
    """The first request of the second turn to the unit, as (type, text, status), and what broke the rules."""
    seen = next(request for request in model.requests if request.unit == "looker")
    said = [[m.type, m.text, getattr(m, "status", None)] for m in seen.messages]
    return {"said": said, "faults": [f for r in model.requests for f in history_faults(r.messages)]}


async def main(url: str, folder: Path, kind: str, turn: str) -> dict[str, Any]:
    model = ScriptedModel(reply)
    workflow = Workflow(flow(kind, Tools(folder, 0.5)), model=model, checkpointer=url)
    result = await workflow.run(f"{turn}, look", thread_id="t")
    return {"outcome": result.outcome, **sent(model)}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]))))

"""Runs a nested DAG again and again, each time killing its own process at random steps until it is done.

Every life of a run is forked from this warm process. Prints, as JSON, which finished steps began
again, and which runs ended otherwise than one that was never killed.
"""

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: F401 - so that a fork need not import it

from plait import DAGFlow, LoopFlow, ParallelFlow, SequentialFlow, Workflow, WorkflowUnit, step, tool
from plait.testing import ScriptedModel, call

folder, runs = Path(sys.argv[1]), int(sys.argv[2])
MARGIN_S = 0.3
"""How long before the kill a step must have ended for its record to be on the disk."""

log, kills = folder / "log", [0]


def write(what: str, path: str) -> None:
    with log.open("a") as file:
        file.write(f"{time.time()} {what} {path}\n")


async def work(path: str) -> str:
    """One step's work, in which the process may end."""
    write("start", path)
    kills[0] -= 1
    dies = kills[0] == 0
    await asyncio.sleep(0.002)
    if dies:
        await asyncio.sleep(MARGIN_S + 0.1)
        write("kill", path)
        os._exit(9)
    return f"{path} done"


@tool(effect="idempotent")
async def effect(path: str) -> str:
    """Work and give what came of it."""
    return await work(path)


def part(name: str) -> object:
    async def run_step(snapshot: object) -> str:
        path = snapshot.path  # type: ignore[attr-defined]
        given = await work(path)
        write("end", path)
        return given

    return step(run_step, id=name)


def reply(request: object) -> object:
    if request.tool_results:  # type: ignore[attr-defined]
        write("end", request.path)  # type: ignore[attr-defined]
        return call("resolve", value=request.tool_results[-1].text)  # type: ignore[attr-defined]
    return call("effect", path=request.path)  # type: ignore[attr-defined]


def flow() -> object:
    unit = WorkflowUnit("unit", tools=[effect], output_adapter=lambda output: {output.split()[0]: output})
    inner = DAGFlow(None, {"x": part("x"), "y": unit, "z": part("z")}, part("sum"), {"z": ["x", "y"]})
    mapped = ParallelFlow.map(part("item"), over=lambda s: [1, 2, 3], reducer=part("total"))
    looped = LoopFlow(SequentialFlow(part("p"), ParallelFlow(part("q"), part("r"))), 2, until=lambda s: False)
    executors = {"a": part("a"), "inner": inner, "map": mapped, "loop": looped, "last": part("last")}
    return DAGFlow(part("first"), executors, part("end"), {"inner": ["a"], "last": ["map", "loop"]})


def live(database: Path, resumed: bool, kill_at: int) -> None:
    """One life: run or resume, and write what the run came to, unless it is killed before."""
    kills[0] = kill_at
    workflow = Workflow(flow(), model=ScriptedModel(reply), checkpointer=f"sqlite:///{database}")
    life = workflow.resume("t") if resumed else workflow.run("go", thread_id="t")
    result = asyncio.run(life)
    steps = [[s.path, s.status, s.output] for s in result.steps]
    database.with_suffix(".json").write_text(
        json.dumps([result.outcome, steps, result.state], sort_keys=True)
    )


def forked(*life: object) -> bool:
    """Whether a life in a process of its own came to its end."""
    child = os.fork()
    if child == 0:
        try:
            live(*life)  # type: ignore[arg-type]
        except BaseException as error:
            write("error", repr(error).replace("\n", " "))
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def lives(number: int) -> str:
    """One run through several deaths; what it came to."""
    dice, database, count = random.Random(number), folder / f"{number}.db", 0
    log.unlink(missing_ok=True)
    while not forked(database, count > 0, dice.randint(1, 12) if number and count < 4 else 0):
        count += 1
        if "error" in log.read_text():
            return log.read_text()
    return database.with_suffix(".json").read_text()


def repeated() -> list[str]:
    """Steps that ended well before a kill and began again after it."""
    ended: dict[str, float] = {}
    safe: set[str] = set()
    found = []
    for line in log.read_text().splitlines():
        moment, what, path = line.split(" ", 2)
        if what == "end":
            ended[path] = float(moment)
        elif what == "kill":
            safe |= {path for path, at in ended.items() if at < float(moment) - MARGIN_S}
        elif what == "start" and path in safe:
            found.append(path)
    return found


unbroken = lives(0)
again: dict[int, list[str]] = {}
different: dict[int, str] = {}
deaths = 0
for number in range(1, runs + 1):
    came_to = lives(number)
    deaths += log.read_text().count(" kill ")
    if came_to != unbroken:
        different[number] = came_to
    if found := repeated():
        again[number] = found
print(json.dumps({"deaths": deaths, "repeated": again, "different": different, "unbroken": unbroken}))

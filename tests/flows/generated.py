"""Generated flows of every kind, nested up to four deep, over scripted units and steps.

What a part gives follows from its path and from what it may see, never from when it runs; how long
it takes follows from the run's seed.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from plait import (
    BroadcastFlow,
    CompositeFlow,
    DAGFlow,
    DelegationFlow,
    Finish,
    LoopFlow,
    ParallelFlow,
    ReflexionFlow,
    RouterFlow,
    RunError,
    RunResult,
    SequentialFlow,
    Skip,
    Snapshot,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import Request, ScriptedModel, call

DEPTH = 4
NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Way:
    """The context of a run: which units ask, and the seed of how long everything takes."""

    asks: frozenset[str] = frozenset()
    seed: int = 0

    def wait_s(self, path: str) -> float:
        return (zlib.crc32(f"{self.seed}:{path}".encode()) % 4) / 1000


def note(who: str, runtime: ToolRuntime) -> str:
    """Ask where the run says so, and note in the shared state who was here and what could be seen."""
    way: Way = runtime.context
    answer = runtime.ask(f"may {runtime.snapshot.path} go on?") if who in way.asks else "yes"
    runtime.shared.set(runtime.snapshot.path, len(runtime.shared))
    return answer


UNITS = {name: WorkflowUnit(name, prompt=f"You are {name}.", tools=[note]) for name in NAMES}
BOSS = WorkflowUnit("boss", tools=[note])


def reply(request: Request) -> Any:
    """A unit notes itself once in each pass, then resolves with its place; the boss delegates before."""
    if not request.tool_results:
        delegations = [call(tool, task=f"task for {tool}") for tool in request.tools if "delegate" in tool]
        return delegations or call("note", who=str(request.unit))
    return call("resolve", value=f"{request.path} after {request.replies} replies")


def waiting(function: Any, name: str) -> Any:
    async def run_step(snapshot: Snapshot) -> Any:
        await asyncio.sleep(snapshot.context.wait_s(snapshot.path))
        return function(snapshot)

    return step(run_step, id=name)


def broken(snapshot: Snapshot) -> None:
    raise ValueError("broken")


STEPS = [
    waiting(lambda s: sorted(s.state), "keys"),
    waiting(lambda s: [record.path for record in s.steps], "seen"),
    waiting(lambda s: [item.path for item in s.inputs], "heard"),
    waiting(lambda s: Skip("no need"), "skip"),
    waiting(lambda s: Finish("stopped"), "stop"),
    waiting(broken, "broken"),
]


def later(snapshot: Snapshot) -> bool:
    """Whether the pass that just ended is at least the second."""
    return not snapshot.path.rpartition("[")[2].startswith("1]")


def planner(parts: Sequence[Any]) -> Any:
    made = [{"id": f"s{n}", "executor": "xy"[n % 2], "task": f"do {n}"} for n in range(len(parts) + 1)]
    made[-1]["depends_on"] = ["s0"]  # type: ignore[assignment]
    return step(lambda s: {"steps": made}, id="plan")


def kinds(parts: list[Any]) -> dict[str, Any]:
    """One flow of each kind over one to three parts."""
    first, last = parts[0], parts[-1]
    heard = STEPS[2]
    return {
        "sequence": SequentialFlow(*parts, id="seq"),
        "composite": CompositeFlow(*parts),
        "router": RouterFlow(step(lambda s: "go", id="pick"), {"go": first, "stay": last}),
        "loop": LoopFlow(first, 2, until=later),
        "parallel": ParallelFlow(*parts),
        "reduced": ParallelFlow(*parts, reducer=heard, on_failure="require_all"),
        "map": ParallelFlow.map(first, over=lambda s: [1, 2], reducer=heard if len(parts) > 1 else None),
        "dag": DAGFlow(None, {"x": first, "y": last}, heard, {"y": ["x"]} if len(parts) > 1 else {}),
        "planned": DAGFlow(planner(parts), {"x": first, "y": last}, heard),
        "delegation": DelegationFlow(BOSS, {"p": first, "q": last}),
        "reflexion": ReflexionFlow(first, step(lambda s: 1, id="judge"), later, max_iterations=2),
        "broadcast": BroadcastFlow(*parts, rounds=2),
    }


KINDS = tuple(kinds([UNITS["a"]]))
leaves = st.one_of(st.sampled_from(NAMES).map(UNITS.__getitem__), st.sampled_from(STEPS))


def nested(depth: int = DEPTH, kind: str | None = None) -> st.SearchStrategy[Any]:
    """Flows at most `depth` deep; `kind` is that of the outermost."""
    if depth == 0:
        return leaves
    inner = leaves if depth == 1 else st.one_of(leaves, nested(depth - 1))
    parts = st.lists(inner, min_size=1, max_size=3 if depth < 3 else 2)
    chosen = st.sampled_from(KINDS) if kind is None else st.just(kind)
    return st.tuples(parts, chosen).map(lambda made: kinds(made[0])[made[1]])


flows = nested()


def workflow(flow: Any, way: Way, **options: Any) -> Workflow:
    model = ScriptedModel(reply, delay_s=lambda request: way.wait_s(str(request.path)))
    return Workflow(flow, model=model, **options)


async def run(flow: Any, way: Way | None = None, **options: Any) -> RunResult:
    """The flow's result, also of a failed run."""
    way = way or Way()
    return await result_of(workflow(flow, way, **options).run("go", thread_id="t", context=way))


async def result_of(work: Any) -> RunResult:
    try:
        result: RunResult = await work
    except RunError as error:
        result = error.result
    return result


def essence(result: RunResult) -> dict[str, Any]:
    """What a run came to, without times, ids, and what was asked and answered on the way."""
    return {
        "end": (result.outcome, result.reason, repr(result.stored), result.accepted, result.path),
        "state": dict(result.state or {}),
        "steps": {
            s.path: (s.unit, s.kind, s.status, repr(s.stored), s.usage, s.delegated_by, len(s.tool_calls))
            for s in result.steps
        },
        "said": [(message.type, message.text) for message in result.messages],
        "bus": sorted((m.type, m.path) for m in result.bus if not m.type.startswith("hitl-")),
    }

"""Generated flows of sequences, routers, loops and steps over scripted units.

Each unit calls one tool and resolves; the replies follow from what a request holds, so that any
flow in any process gets the same ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from plait import (
    Finish,
    LoopFlow,
    RouterFlow,
    RunError,
    RunResult,
    SequentialFlow,
    Skip,
    Snapshot,
    ToolRuntime,
    Workflow,
    step,
)
from plait import WorkflowUnit as Unit
from plait.testing import Request, ScriptedModel, call


def ask(who: str, runtime: ToolRuntime) -> str:
    """Ask whether to go on, where the run's context says so; note in the shared state who did."""
    asks = who in (runtime.context or ())
    answer = runtime.ask(f"may {who} go on?") if asks else "yes"
    runtime.shared.set(who, (runtime.shared.get(who) or 0) + 1)
    return f"{who}: {answer}"


NAMES = ("a", "b", "c", "d")
UNITS = {name: Unit(name, prompt=f"You are {name}.", tools=[ask]) for name in NAMES}
PICK = Unit("pick", prompt="Pick a route.")


def reply(request: Request) -> Any:
    """A unit asks once in each of its passes, then resolves with its place; the router picks `go`."""
    if request.unit == "pick":
        return call("resolve", value="go")
    if request.tool_results:
        return call("resolve", value=f"{request.unit} after {request.replies} replies")
    return call("ask", who=request.unit)


def count(snapshot: Snapshot) -> int:
    return len(snapshot.steps)


def skip(snapshot: Snapshot) -> Skip:
    return Skip("nothing to do")


def stop(snapshot: Snapshot) -> Finish:
    return Finish("stopped")


def broken(snapshot: Snapshot) -> None:
    raise ValueError("broken")


def twice(snapshot: Snapshot) -> bool:
    """Whether the pass that just ended is at least the second."""
    return not snapshot.path.rpartition("[")[2].startswith("1]")


units = st.sampled_from(NAMES).map(UNITS.__getitem__)
steps = st.sampled_from([step(count), step(skip), step(stop), step(broken)])
leaves = st.one_of(units, units, steps)


def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: SequentialFlow(*parts)),
        inner.map(lambda part: RouterFlow(PICK, {"go": part, "stay": UNITS["d"]})),
        st.tuples(inner, st.sampled_from([None, twice])).map(
            lambda made: LoopFlow(made[0], max_iterations=2, until=made[1])
        ),
    )


flows = st.recursive(leaves, wider, max_leaves=5)


async def run(flow: Any, context: Any = None, saver: InMemorySaver | None = None) -> RunResult:
    """The flow's result, also of a failed run; with `context` the units named there ask."""
    workflow = Workflow(flow, model=ScriptedModel(reply), checkpointer=saver or InMemorySaver())
    return await result_of(workflow.run("go", thread_id="t", context=context))


async def resume(flow: Any, context: Any, saver: InMemorySaver, paused: RunResult) -> RunResult:
    """The thread resumed by a workflow made anew, as another process would."""
    workflow = Workflow(flow, model=ScriptedModel(reply), checkpointer=saver)
    return await result_of(workflow.resume("t", {paused.interrupts[0].id: "yes"}, context=context))


async def result_of(work: Awaitable[RunResult]) -> RunResult:
    try:
        return await work
    except RunError as error:
        result: RunResult = error.result
        return result


def essence(result: RunResult, path: Callable[[str], str] = str) -> dict[str, Any]:
    """What a run came to, without times and ids; `path` may rewrite addresses."""
    return {
        "end": (result.outcome, result.reason, repr(result.stored), result.accepted, path(result.path)),
        "state": dict(result.state or {}),
        "steps": [
            (path(s.path), s.unit, s.kind, s.status, path(str(s.output)), s.usage, len(s.tool_calls))
            for s in result.steps
        ],
        "said": [(message.type, path(message.text)) for message in result.messages],
        "bus": [(m.type, path(m.path)) for m in result.bus if not m.type.startswith("hitl-")],
    }

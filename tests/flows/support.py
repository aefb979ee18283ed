"""What the tests of flows share: steps that say when they ran, and short ways to run a flow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel

from plait import RunError, RunResult, Snapshot, ToolRuntime, Workflow, WorkflowUnit, step
from plait.testing import Request, ScriptedModel, call

Scheduling = Literal["eager", "superstep"]


class Score(BaseModel):
    """What an evaluator gives."""

    score: float
    feedback: str = ""


class Log(list[str]):
    """What happened, in order, and how many things went on at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.running = 0
        self.peak = 0

    def begin(self, name: str) -> None:
        self.append(f"{name} starts")
        self.running += 1
        self.peak = max(self.peak, self.running)

    def end(self, name: str, how: str = "ends") -> None:
        self.append(f"{name} {how}")
        self.running -= 1

    def before(self, first: str, second: str) -> bool:
        return self.index(first) < self.index(second)

    def starts(self, name: str) -> int:
        return self.count(f"{name} starts")


def noted(
    log: Log,
    name: str,
    *,
    gives: Any = None,
    wait: float | asyncio.Event = 0.0,
    then: Any = None,
    **options: Any,
) -> Any:
    """A step that notes its start and end; it waits seconds or for an event, and may raise `then`."""

    async def run(snapshot: Snapshot) -> Any:
        log.begin(name)
        how = "is cancelled"
        try:
            await (wait.wait() if isinstance(wait, asyncio.Event) else asyncio.sleep(wait))
            how = "ends" if then is None else "fails"
            if then is not None:
                raise then
        finally:
            log.end(name, how)
        return gives if gives is not None else name

    return step(run, id=name, **options)


def seen(name: str = "seen") -> Any:
    """A step that gives what it was given, by the last segment of the path."""
    return step(lambda s: {item.path.rpartition("/")[2]: item.output for item in s.inputs}, id=name)


def given(name: str, value: Any = None, **options: Any) -> Any:
    return step(lambda s: name if value is None else value, id=name, **options)


def broken(name: str, error: Exception | None = None) -> Any:
    def fail(snapshot: Snapshot) -> None:
        raise error or ValueError(f"{name} broke")

    return step(fail, id=name)


def resolving(request: Request) -> Any:
    """Every unit resolves at once with its own id."""
    return call("resolve", value=str(request.unit))


def ask(who: str, runtime: ToolRuntime) -> str:
    """Ask a question and give its answer."""
    return f"{who} heard {runtime.ask(f'{who}?')}"


def asking(*names: str, **options: Any) -> list[WorkflowUnit[str]]:
    return [WorkflowUnit(name, tools=[ask], **options) for name in names]


def asker(request: Request) -> Any:
    """A unit asks once in each pass, then resolves with what it heard."""
    if request.tool_results:
        return call("resolve", value=request.tool_results[-1].text)
    return call("ask", who=str(request.unit))


async def run(flow: Any, script: Any = resolving, task: str = "Go.", **options: Any) -> RunResult:
    """The result of a run, also of a failed one."""
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    given = {name: options.pop(name) for name in ("thread_id", "context") if name in options}
    if isinstance(options.get("state"), Mapping):  # values to begin with, and no type
        given["state"] = options.pop("state")
    try:
        return await Workflow(flow, model=model, **options).run(task, **given)
    except RunError as error:
        result: RunResult = error.result
        return result


def statuses(result: RunResult) -> dict[str, str]:
    return {record.path: record.status for record in result.steps}


def outputs(result: RunResult) -> dict[str, Any]:
    return {record.path: record.output for record in result.steps}


async def answered(
    workflow: Workflow, result: RunResult, answer: Callable[[str], str] = str.upper, *, together: bool = True
) -> RunResult:
    """Answer every question of a paused run, all at once or one by one; each must show exactly once."""
    while result.outcome == "paused":
        asked = [question.question for question in result.interrupts]
        assert len(set(asked)) == len(asked), f"a question shows twice: {asked}"
        questions = result.interrupts if together else result.interrupts[:1]
        told: Mapping[str, str] = {q.id: answer(q.question) for q in questions}
        result = await workflow.resume(result.thread_id, told)
    return result


def planned(*steps: Any) -> dict[str, Any]:
    """A plan from (id, executor, needs...) tuples."""
    made = [{"id": s[0], "executor": s[1], "task": f"do {s[0]}", "depends_on": list(s[2:])} for s in steps]
    return {"steps": made}


def planning(*plans: Any) -> Callable[[Any], Any]:
    """The planner gives one plan after the other; every other unit resolves with its path."""

    def reply(request: Any) -> Any:
        if request.unit == "plan":
            return call("resolve", **plans[request.replies])
        return call("resolve", value=str(request.path))

    return reply

"""Runs as the command drives them: shown while they go on, stopped in good order by Ctrl-C, remembered."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.markup import escape

from ..core.errors import PlaitError, RunError
from ..core.records import StepRecord
from ..graphs.result import RunResult
from ..graphs.run import Run
from ..nodes.signals import caught
from ..view.live import LiveTree
from ..view.livenode import LiveNode, LiveStatus
from ..workflow import Workflow
from .displays import Display, display_for
from .guard import silence
from .memory import Memory, Remembered, now_at
from .status import INTERRUPTED, status_of
from .told import as_json, print_error, print_questions, print_result, result_data

EVERY_S = 0.125
STOPPING = "stopping; Ctrl-C again stops now"


@dataclass(frozen=True)
class Manner:
    """How a run is shown: `console` is standard error."""

    console: Console
    json: bool = False
    quiet: bool = False

    @property
    def display(self) -> Display:
        return display_for(self.console, json=self.json, quiet=self.quiet)


@dataclass
class Stop:
    """What Ctrl-C and SIGTERM do to runs: the first drains them, the second cancels them."""

    runs: list[Run[Any]] = field(default_factory=list)
    is_asked: bool = False

    def add(self, run: Run[Any]) -> Run[Any]:
        self.runs.append(run)
        if self.is_asked:
            run.brake.drain()
        return run

    def drain(self) -> None:
        self.is_asked = True
        for run in self.runs:
            run.brake.drain()

    def cancel(self) -> None:
        for run in self.runs:
            run.cancel_soon()


def drive(
    begin: Callable[[], Run[Any]], tree: LiveTree, kept: Remembered, memory: Memory, manner: Manner
) -> tuple[RunResult[Any] | None, int]:
    """Start a run, show it to its end and say what it came to: its result, and the exit status.

    The result is None when the process was interrupted. Raises PlaitError when the run did not begin.
    """
    try:
        return asyncio.run(_driven(begin, tree, kept, memory, manner))
    except KeyboardInterrupt:
        return None, INTERRUPTED


async def _driven(
    begin: Callable[[], Run[Any]], tree: LiveTree, kept: Remembered, memory: Memory, manner: Manner
) -> tuple[RunResult[Any], int]:
    stop = Stop()
    with caught(stop.drain, stop.cancel):
        before = memory.get(kept.thread)
        run = stop.add(begin())
        memory.put(kept)
        try:
            await _shown(run, tree, kept.task or kept.thread, stop, manner.display)
            result = await result_of(run)
        except BaseException as error:
            is_refused = isinstance(error, PlaitError) and not isinstance(error, RunError)
            memory.restore(kept, before if is_refused else now_at(kept, "failed"))
            raise
        memory.put(now_at(kept, result.outcome))
        report(result, manner)  # before the signal takes its usual effect, which may end the process
        return result, INTERRUPTED if stop.is_asked and result.outcome != "done" else status_of(
            result.outcome
        )


async def result_of(run: Run[Any]) -> RunResult[Any]:
    """The result, also of a run that failed."""
    try:
        return await run.result()
    except RunError as error:
        if error.result is None:
            raise
        failed: RunResult[Any] = error.result
        return failed


async def _shown(run: Run[Any], tree: LiveTree, task: str, stop: Stop, display: Display) -> None:
    """Show a run to its end; what its result raises is raised there, too, unless the run failed."""
    news: list[LiveTree] = [tree]

    async def read() -> None:
        async for event in run.events():
            news[0] = news[0].after(event)
            try:
                display.take(event, news[0])
            except BrokenPipeError:
                silence()  # and the run goes on

    reader = asyncio.create_task(read())
    head = " ".join(task.split())
    with display:
        try:
            while not reader.done():
                await asyncio.wait({reader}, timeout=EVERY_S)
                note = STOPPING if stop.is_asked and not reader.done() else ""
                display.tick(news[0], time.time(), head, note)
        finally:
            reader.cancel()
    await reader


def report(result: RunResult[Any], manner: Manner) -> None:
    """Say what a run came to, and what can be done next."""
    if manner.json:
        print(as_json(result_data(result)), flush=True)
        return
    console = manner.console
    print_result(result, console)
    if result.outcome == "failed":
        print_error(result.error(), console)
    print_questions(result.interrupts, console)
    if result.outcome in ("failed", "paused", "cancelled"):
        console.print(f"{_stands(result)}; go on with: [bold]{escape(resume_line(result.thread_id))}[/]")


def _stands(result: RunResult[Any]) -> str:
    said = {
        "failed": "The thread is kept",
        "paused": "Paused",
        "cancelled": "Stopped where it can be resumed",
    }
    return said[result.outcome]


def resume_line(thread: str) -> str:
    """The command that goes on with a thread, to be pasted into a shell."""
    return shlex.join(["plait", "resume", thread])


def resuming(workflow: Workflow[Any], thread: str, answers: Any, options: dict[str, Any]) -> Run[Any]:
    """Begin to resume a thread on the running loop, with a handle on the run."""
    run: Run[Any] = Run(thread, workflow._engine.send, flow=workflow.bound.flow)
    return run.begin(workflow._engine.resume(thread, answers, run=run, **options))


def tree_with(flow: Any, steps: Sequence[StepRecord]) -> LiveTree:
    """The tree of a run that goes on after these steps."""
    tree = LiveTree.of(flow)
    return replace(tree, nodes={**tree.nodes, **{node.path: node for node in _nodes(steps)}})


def _nodes(steps: Iterable[StepRecord]) -> Iterable[LiveNode]:
    for step in steps:
        status: LiveStatus = "waiting" if step.status == "rewound" else step.status
        yield LiveNode(
            step.path,
            step.unit,
            "step" if step.kind == "step" else "unit",
            status,
            reason=step.reason,
            model_calls=step.usage.model_calls,
            tool_calls=step.usage.tool_calls,
            tokens=step.usage.tokens,
            started_s=step.started_at or None,
            ended_s=step.started_at + step.duration_s if step.started_at else None,
        )

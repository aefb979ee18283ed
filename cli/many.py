"""`plait run --tasks`: many tasks, each on a thread of its own, some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..core.errors import PlaitError
from ..graphs.result import RunResult
from ..nodes.signals import caught
from ..view.words import count, seconds
from ..workflow import Workflow
from .driving import Manner, Stop, result_of, resume_line
from .memory import Memory, begun, now_at
from .screen import MARKS, short
from .status import INTERRUPTED, status_of, worst
from .told import as_json, as_text, output_of, result_data

From = tuple[Memory, str, str | None, str | None]
"""Where it is remembered, and the FILE, store and model of each thread."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one task ended; `result` is None when it did not begin."""

    number: int
    task: str
    result: RunResult[Any] | None
    error: str = ""

    @property
    def status(self) -> int:
        return status_of("failed" if self.result is None else self.result.outcome)


def run_many(
    workflow: Workflow[Any],
    tasks: Sequence[str],
    options: Mapping[str, Any],
    concurrency: int,
    source: From,
    manner: Manner,
) -> int:
    """Run the tasks, show how many have ended, then what each came to; the worst of their statuses."""
    try:
        return asyncio.run(_run_many(workflow, tasks, options, concurrency, source, manner))
    except KeyboardInterrupt:
        return INTERRUPTED


async def _run_many(
    workflow: Workflow[Any],
    tasks: Sequence[str],
    options: Mapping[str, Any],
    concurrency: int,
    source: From,
    manner: Manner,
) -> int:
    stop, slots, ended = Stop(), asyncio.Semaphore(concurrency), list[Ended]()
    progress = _progress(manner.console, shown=not manner.json and not manner.quiet)
    bar = progress.add_task("tasks", total=len(tasks))

    async def one(number: int, task: str) -> None:
        async with slots:
            if stop.is_asked:
                return
            done = await _ended(workflow, number, task, options, source, stop)
        ended.append(done)
        progress.advance(bar)
        if manner.json:
            print(as_json(_data(done)), flush=True)
        elif not manner.console.is_terminal and not manner.quiet:
            manner.console.print(_line(done), markup=False)

    with caught(stop.drain, stop.cancel):
        async with workflow:
            with progress:
                await asyncio.gather(*(one(number, task) for number, task in enumerate(tasks, 1)))
        if not manner.json:
            _print_results(sorted(ended, key=lambda each: each.number), len(tasks), manner)
        return INTERRUPTED if stop.is_asked else worst([each.status for each in ended])


async def _ended(
    workflow: Workflow[Any], number: int, task: str, options: Mapping[str, Any], source: From, stop: Stop
) -> Ended:
    memory, file, url, model = source
    kept = begun(uuid4().hex[:8], file, url, task, model)
    memory.put(kept)
    run = stop.add(workflow.start(task, thread_id=kept.thread, **options))
    try:
        result = await result_of(run)
    except PlaitError as error:
        memory.put(now_at(kept, "failed"))
        return Ended(number, task, None, str(error))
    finally:
        stop.runs.remove(run)
    memory.put(now_at(kept, result.outcome))
    return Ended(number, task, result, result.message)


def _progress(console: Console, *, shown: bool) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not shown or not console.is_terminal)


def _data(ended: Ended) -> dict[str, Any]:
    told = {"number": ended.number, "task": ended.task}
    if ended.result is None:
        return {"type": "result", **told, "outcome": "failed", "message": ended.error}
    return {**result_data(ended.result), **told}


def _line(ended: Ended) -> str:
    outcome = "failed" if ended.result is None else ended.result.outcome
    return f"{ended.number}: {outcome}: {' '.join(ended.task.split())[:100]}"


def _print_results(ended: Sequence[Ended], tasks: int, manner: Manner) -> None:
    """The outputs as a table on standard output; what failed or is open, with what goes on with it."""
    output = Console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", expand=output.is_terminal)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("task", ratio=2, no_wrap=True, overflow="ellipsis")
    table.add_column("output", ratio=3, overflow="fold")
    for name in ("calls", "tokens", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in ended:
        table.add_row(*_row(each))
    output.print(table)
    failed = sum(each.status != 0 for each in ended)
    told = f"{count(len(ended) - failed, 'task')} done, {failed} not, {tasks - len(ended)} not begun"
    manner.console.print(f"[dim]{told}[/]")
    for each in ended:
        if each.status and each.result is not None:
            manner.console.print(f"[dim]{each.number}:[/] {resume_line(each.result.thread_id)}", markup=True)


def _row(ended: Ended) -> list[str | Text]:
    result = ended.result
    sign, style = MARKS["failed" if result is None else result.outcome]
    task = " ".join(ended.task.split())
    shown: str | Text = Text(ended.error, "red")
    if result is not None and result.outcome in ("done", "partial"):
        output = output_of(result)
        shown = output if isinstance(output, str) else as_json(output)
    elif result is not None and result.interrupts:
        shown = Text("; ".join(as_text(one.question) for one in result.interrupts), "yellow")
    numbers = (
        ("", "", "")
        if result is None
        else (str(result.usage.model_calls), short(result.usage.tokens), seconds(result.duration_s))
    )
    head = Text(f"{ended.number} ").append(sign, style)
    return [head, Text(task), Text(shown) if isinstance(shown, str) else shown, *numbers]

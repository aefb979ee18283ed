"""`plait threads`, `show`, `fork` and `steer`: what is known of threads, and messages to them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..core.events import Event
from ..graphs.points import ThreadPoint
from ..graphs.result import RunResult
from ..thread import Thread
from ..view.live import LiveTree
from .driving import resume_line, tree_with
from .given import mapping_from
from .guard import Usage, guarded
from .lines import line_of
from .memory import Memory, Remembered, now_at, reopened
from .options import AsJson, Names, Store, background
from .screen import MARKS, screen
from .told import as_json, as_text, error_console, print_questions, result_data

STANDING = {
    "running": "blue",
    "done": "green",
    "failed": "red",
    "broke off": "magenta",
    "cancelled": "magenta",
}


@guarded
def threads(
    file: Annotated[str | None, typer.Argument(help="Only the threads of this FILE.")] = None,
    json: AsJson = False,
) -> int:
    """List the threads of this folder, the newest first."""
    memory = Memory.here()
    found = [one for one in memory.all() if file is None or one.file == file]
    if json:
        for one in found:
            print(as_json(_data(one)))
        return 0
    output = Console(highlight=False)
    if not found:
        error_console().print(f"[dim]no threads are remembered in {escape(str(memory.folder))}[/]")
        return 0
    if output.is_terminal:
        output.print(_listed(found, narrow=output.width < 100))
    else:
        print(*map(_line, found), sep="\n")
    return 0


@guarded
def show(
    names: Names,
    events: Annotated[bool, typer.Option("--events", help="Follow the events of the latest run.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="List the points that `fork --at` takes.")
    ] = False,
    store: Store = None,
    json: AsJson = False,
) -> int:
    """Show a thread: its steps, output, open questions; its events or its history."""
    memory = Memory.here()
    kept, words = memory.find(names)
    _no_more(words)
    target = reopened(memory, kept, model=None, store=store)
    thread = target.workflow.thread(kept.thread)
    if events:
        return background(_follow(thread, json=json))
    if history:
        return _print_history(background(thread.history()), json=json)
    result = background(thread.result())
    if json:
        print(as_json({**result_data(result), "steps": [_step(each) for each in result.steps]}))
        return 0
    _print_thread(kept, result, tree_with(target.workflow.bound.flow, result.steps))
    return 0


@guarded
def fork(
    names: Names,
    at: Annotated[
        str | None, typer.Option(help="A point's id, a part's path (before it ran), or a turn's number.")
    ] = None,
    state: Annotated[list[str] | None, typer.Option(help="Shared keys that differ there: KEY=VALUE.")] = None,
    name: Annotated[str | None, typer.Option(help="The name of the new thread.")] = None,
    store: Store = None,
) -> int:
    """Copy a thread up to a point; the copy goes on by itself."""
    memory = Memory.here()
    kept, words = memory.find(names)
    _no_more(words)
    thread = reopened(memory, kept, model=None, store=store).workflow.thread(kept.thread)
    point: str | int | None = int(at) if at is not None and at.isdecimal() else at
    made = background(thread.fork(point, state=mapping_from(state or (), "--state"), thread_id=name))
    memory.put(now_at(replace(kept, thread=made.id, store=store or kept.store), "forked"))
    print(made.id)
    error_console().print(f"go on with: [bold]{escape(resume_line(made.id))}[/]")
    return 0


@guarded
def steer(
    names: Annotated[list[str], typer.Argument(metavar="[FILE] THREAD ADDRESS TEXT")],
    follow_up: Annotated[bool, typer.Option("--follow-up", help="Only when the unit would end.")] = False,
    store: Store = None,
) -> int:
    """Tell a unit of a thread something, while it runs or before.

    ADDRESS is a unit's id, a path, or a pattern such as 'deep/*'.
    """
    memory = Memory.here()
    kept, words = memory.find(names)
    if len(words) < 2:
        raise Usage("steer takes THREAD ADDRESS TEXT, such as: plait steer 7f3a critic 'be brief'")
    address, text = words[0], " ".join(words[1:])
    thread = reopened(memory, kept, model=None, store=store).workflow.thread(kept.thread)
    item = background((thread.follow_up if follow_up else thread.steer)(address, text))
    error_console().print(f"[dim]{item.kind.replace('_', '-')} for {escape(address)}, at its next chance[/]")
    return 0


def _no_more(words: Sequence[str]) -> None:
    if words:
        raise Usage(f"there is more than a thread: {' '.join(words)}")


def _data(kept: Remembered) -> dict[str, Any]:
    names = ("thread", "file", "store", "task", "began_s", "changed_s")
    return {**{name: getattr(kept, name) for name in names}, "outcome": kept.stands}


def _listed(found: Sequence[Remembered], *, narrow: bool) -> Table:
    """Names and outcomes whole; what does not fit is cut of the task, then of the file."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("thread", overflow="fold", min_width=min(36, max(cell_len(one.thread) for one in found)))
    table.add_column("outcome", no_wrap=True, min_width=max(len(one.stands) for one in found))
    table.add_column("when", no_wrap=True, min_width=len(_when(0)))
    if not narrow:
        table.add_column("file", no_wrap=True, overflow="ellipsis", max_width=30)
    table.add_column("task", no_wrap=True, overflow="ellipsis", min_width=4, ratio=1)
    for one in found:
        stands = Text(one.stands, STANDING.get(one.stands, "yellow"))
        file = () if narrow else (one.file,)
        table.add_row(Text(one.thread), stands, _when(one.changed_s), *file, Text(_task(one)))
    return table


def _line(one: Remembered) -> str:
    """A thread for a pipe, whole."""
    return "\t".join((one.thread, one.stands, _when(one.changed_s), one.file, _task(one)))


def _task(one: Remembered) -> str:
    return " ".join(one.task.split())


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%m-%d %H:%M")


def _print_thread(kept: Remembered, result: RunResult[Any], tree: LiveTree) -> None:
    output = Console(highlight=False)
    first = min((each.started_at for each in result.steps if each.started_at), default=0.0)
    last = max((each.started_at + each.duration_s for each in result.steps), default=0.0)
    run = replace(
        tree.run,
        status="waiting" if kept.stands == "running" else result.outcome,
        started_s=first or None,
        ended_s=last,
    )
    shown = replace(tree, nodes={**tree.nodes, "": run})
    told = " ".join(kept.task.split()) or kept.thread
    output.print(screen(shown, last, output.width, head=told))
    for line in _outputs(result):
        output.print(line)
    if result.outcome in ("done", "partial"):
        output.print(Text("\noutput", "bold"))
        output.print(as_text(result.output), markup=False)
    if result.outcome == "failed":
        output.print(Text(f"\n{result.error()}", "red"))
    print_questions(result.interrupts, output)


def _outputs(result: RunResult[Any]) -> list[Text]:
    """What each step gave, in a line."""
    lines = [Text("\nsteps", "bold")] if result.steps else []
    for each in result.steps:
        sign, style = MARKS["failed" if each.status == "rewound" else each.status]
        told = each.message if each.status == "failed" else as_json(each.output)
        line = Text("  ", no_wrap=True, overflow="ellipsis").append(f"{sign} ", style).append(each.path)
        lines.append(line.append(f"  {told}", "dim"))
    return lines


def _step(step: Any) -> dict[str, Any]:
    return {
        "path": step.path,
        "unit": step.unit,
        "status": step.status,
        "output": step.output if step.status in ("done", "partial") else None,
        "message": step.message or None,
        "calls": [{"tool": call.name, "args": call.args, "ok": call.ok} for call in step.tool_calls],
        "usage": step.usage.to_plain(),
    }


def _print_history(points: Sequence[ThreadPoint], *, json: bool) -> int:
    for point in points:
        print(as_json(_point(point)) if json else str(point))
    return 0


def _point(point: ThreadPoint) -> dict[str, Any]:
    names = ("id", "turn", "kind", "last", "next", "time")
    return {name: getattr(point, name) for name in names}


async def _follow(thread: Thread[Any], *, json: bool) -> int:
    tree = LiveTree()
    async for event in thread.events():
        tree = tree.after(event)
        _print_event(event, tree, json=json)
    return 0


def _print_event(event: Event, tree: LiveTree, *, json: bool) -> None:
    if json:
        print(as_json(event.to_plain()), flush=True)
    elif event.is_last:
        print(f"the run: {event.outcome}", flush=True)
    elif (line := line_of(event, tree)) is not None:
        print(line, file=sys.stdout, flush=True)

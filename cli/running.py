"""`plait run` and `plait resume`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer
from rich.markup import escape

from ..core.ports import Question
from ..graphs.result import RunResult
from ..graphs.turns import UNSET
from ..view.live import LiveTree
from ..workflow import Workflow
from .answering import answers_for, asked_for
from .driving import Manner, drive, resuming, tree_with
from .given import context_from, mapping_from, task_from, tasks_from
from .guard import Usage, guarded
from .many import run_many
from .memory import Memory, Remembered, begun, now_at, opened, reopened
from .options import AsJson, Context, Model, Quiet, Store, background
from .status import status_of
from .told import error_console, print_questions


@guarded
def run(
    file: Annotated[str, typer.Argument(help="A .yaml file, file.py:attribute or package.module:attribute.")],
    task: Annotated[str | None, typer.Argument(help="The task; - or a pipe reads standard input.")] = None,
    thread: Annotated[str | None, typer.Option(help="The thread to run on; a new one unless given.")] = None,
    state: Annotated[list[str] | None, typer.Option(help="Shared state: KEY=VALUE, JSON or @FILE.")] = None,
    context: Context = None,
    model: Model = None,
    store: Store = None,
    tasks: Annotated[
        Path | None, typer.Option(help="Many tasks, one a line; - reads standard input.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Tasks that run at a time.")] = 4,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Drop the open questions of the thread.")
    ] = False,
    ask: Annotated[bool, typer.Option(help="Ask on the terminal when the run pauses.")] = True,
    json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Run a workflow on a task.

    A tree shows what runs; the output goes to standard output. Ctrl-C stops where the run can be resumed.
    """
    memory, manner = Memory.here(), Manner(error_console(), json, quiet)
    target, url = opened(memory, file, model=model, store=store)
    _notice(target.notice, manner)
    workflow = target.workflow
    options = {
        "state": mapping_from(state or (), "--state"),
        "context": context_from(context or (), workflow._context_schema),
        "abandon": abandon,
    }
    if tasks is not None:
        if task is not None or thread is not None:
            raise Usage("--tasks runs each task on a thread of its own: leave TASK and --thread out")
        return run_many(workflow, tasks_from(tasks), options, concurrency, (memory, file, url, model), manner)
    said, name = task_from(task), thread or uuid4().hex[:8]
    kept = begun(name, file, url, said, model)
    result, status = drive(
        lambda: workflow.start(said, thread_id=name, **options),
        LiveTree.of(workflow.bound.flow),
        kept,
        memory,
        manner,
    )
    return _asked_on(result, status, workflow, kept, memory, manner, ask=ask, context=options["context"])


@guarded
def resume(
    names: Annotated[
        list[str], typer.Argument(metavar="[FILE] THREAD [ANSWER]...", help="Answers in order.")
    ],
    answer: Annotated[
        list[str] | None, typer.Option(help="ID=ANSWER, for one of several questions; may be given often.")
    ] = None,
    context: Context = None,
    model: Model = None,
    store: Store = None,
    ask: Annotated[bool, typer.Option(help="Ask on the terminal for answers that are not given.")] = True,
    json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Go on with a thread that paused, failed or was interrupted.

    Answers to a tool call: approve, 'edit {json}', 'reject why', 'respond text'. To a call in doubt:
    run_again, skip, 'happened result'. To a question: the text.
    """
    memory, manner = Memory.here(), Manner(error_console(), json, quiet)
    kept, words = memory.find(names)
    target = reopened(memory, kept, model=model, store=store)
    _notice(target.notice, manner)
    workflow = target.workflow
    given = context_from(context or (), workflow._context_schema)
    questions = tuple(background(workflow.thread(kept.thread).interrupts()))
    answers = answers_for(questions, words, answer or ())
    if (words or answer) and not questions:
        raise Usage(
            f"thread {kept.thread} has no open question: `plait resume {kept.thread}` goes on with it"
        )
    if ask and _is_interactive(manner):
        left = [one for one in questions if one.id not in answers]
        answers |= _typed(tuple(left), manner)
    return _go_on(answers or UNSET, workflow, kept, memory, manner, ask=ask, context=given)


def _go_on(
    answers: Any,
    workflow: Workflow[Any],
    kept: Remembered,
    memory: Memory,
    manner: Manner,
    *,
    ask: bool,
    context: Any,
) -> int:
    before = background(workflow.thread(kept.thread).result())
    result, status = drive(
        lambda: resuming(workflow, kept.thread, answers, {"context": context}),
        tree_with(workflow.bound.flow, before.steps),
        now_at(kept, "running"),
        memory,
        manner,
    )
    return _asked_on(result, status, workflow, kept, memory, manner, ask=ask, context=context)


def _asked_on(
    result: RunResult[Any] | None,
    status: int,
    workflow: Workflow[Any],
    kept: Remembered,
    memory: Memory,
    manner: Manner,
    *,
    ask: bool,
    context: Any,
) -> int:
    """Ask a person at the terminal what the run asks, and go on with the answers."""
    paused = result is not None and result.interrupts and status == status_of("paused")
    if not paused or not ask or not _is_interactive(manner):
        return status
    assert result is not None
    answers = _typed(result.interrupts, manner)
    if not answers:
        return status
    return _go_on(answers, workflow, kept, memory, manner, ask=ask, context=context)


def _typed(questions: tuple[Question, ...], manner: Manner) -> dict[str, Any]:
    """The answers that a person types; none when the terminal is left with Ctrl-D or Ctrl-C."""
    console = manner.console
    answers: dict[str, Any] = {}

    def refuse(why: str) -> None:
        console.print(f"[red]{escape(why)}[/]")

    try:
        for asked in questions:
            print_questions((asked,), console)
            answers[asked.id] = asked_for(asked, lambda takes: _read(takes, manner), refuse)
    except EOFError:
        console.print("[dim]no answer; the run stays paused[/]")
        return {}
    return answers


def _read(takes: str, manner: Manner) -> str:
    manner.console.print(f"  [dim]{escape(takes)}[/] > ", end="")
    return input()


def _is_interactive(manner: Manner) -> bool:
    return not manner.json and sys.stdin.isatty() and manner.console.is_terminal


def _notice(told: str, manner: Manner) -> None:
    if told and not manner.quiet:
        manner.console.print(f"[dim]{escape(told)}[/]")

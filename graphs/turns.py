"""What the root graph is invoked with: a new turn's input, or what lets a stopped thread go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import Command

from ..core.errors import NothingToResume, PlaitError, ThreadPaused
from ..core.ports import Question
from .compile import ENTER
from .drive import Drive
from .kept import check_state, check_values
from .result import question_from
from .rewind import check_definition, rewound

UNSET: Any = object()


def turn_input(task: Any, state: Mapping[str, Any] | None) -> dict[str, Any]:
    """The graph's input for a task: text, content blocks, a message or messages."""
    is_messages = isinstance(task, list) and task and all(hasattr(item, "type") for item in task)
    given = {"messages": list(task)} if is_messages else {"task": task}
    return given | ({"state": dict(state)} if state else {})


async def check_new_turn(drive: Drive, *, abandon: bool) -> None:
    """Raise what keeps a thread from a new turn: ThreadPaused unless `abandon`, or ClassChanged."""
    state = await drive.state()
    questions = [question_from(item) for item in state.interrupts]
    if questions and not abandon:
        raise ThreadPaused(drive.thread_id, questions)
    check_state(drive.bound, state.values)


async def continuation(drive: Drive, answers: Any) -> Any:
    """A Command with answers or with the failed parts taken up again, or None after a crash.

    Raises NothingToResume, ClassChanged, DefinitionChanged, or ThreadPaused when answers are missing.
    """
    state = await drive.state(subgraphs=True)
    if not state.values.get("turn") and not state.tasks:
        raise NothingToResume(f"thread {drive.thread_id!r} has not run anything yet")
    check_values(drive.bound, state)
    check_definition(drive.bound, drive.thread_id, state)
    questions = [question_from(item) for item in state.interrupts]
    if questions:
        return Command(resume=_answers(drive.thread_id, questions, answers))
    if state.tasks:  # not `next`: a step that is done, but lost the checkpoint after it, is not in there
        return None
    ended = state.values.get("outcome")
    if ended != "failed":
        raise NothingToResume(f"thread {drive.thread_id!r} ended {ended!r}; start a new turn with run(...)")
    return Command(update=rewound(state.values), goto=ENTER)


def _answers(thread_id: str, questions: Sequence[Question], answers: Any) -> dict[str, Any]:
    if answers is UNSET:
        raise ThreadPaused(thread_id, questions)
    known = {question.id for question in questions}
    if isinstance(answers, Mapping) and answers and set(answers) <= known:
        return dict(answers)
    if len(questions) == 1:
        return {questions[0].id: answers}
    raise PlaitError(
        f"thread {thread_id!r} has {len(questions)} questions; answer by id: {', '.join(sorted(known))}"
    )

"""What the root graph is invoked with: a new turn's input, or what lets a stopped thread go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.tools import BaseTool
from langgraph.constants import START
from langgraph.types import Command

from ..core.errors import NothingToResume, PlaitError, ThreadPaused
from ..core.paths import definition_key
from ..core.ports import Question
from ..core.state import SharedState
from ..nodes.approvals import check_answer
from ..nodes.doubt import HAPPENED, IN_DOUBT, marked
from ..nodes.tools import as_tool
from .binding import Bound
from .drive import Drive
from .kept import check_state, check_values
from .rewind import check_definition, rewound
from .root import ENTER

UNSET: Any = object()


def turn_input(task: Any, state: Mapping[str, Any] | None) -> dict[str, Any]:
    """The graph's input for a task: text, content blocks, a message or messages.

    Raises PlaitError for anything else, and for a task that says nothing.
    """
    given = {"messages": _messages(task)} if _is_messages(task) else {"task": _checked(task)}
    return given | ({"state": dict(state)} if state else {})


def _is_messages(task: Any) -> bool:
    is_list = isinstance(task, list) and bool(task)
    return is_list and all(isinstance(item, BaseMessage | tuple) or _has_role(item) for item in task)


def _has_role(item: Any) -> bool:
    return isinstance(item, Mapping) and "role" in item


def _messages(task: list[Any]) -> list[BaseMessage]:
    try:
        return convert_to_messages(task)
    except (ValueError, NotImplementedError) as error:
        raise PlaitError(f"the task's messages cannot be read: {error}") from error


def _checked(task: Any) -> Any:
    said = task.content if isinstance(task, BaseMessage) else task
    if isinstance(said, str) and said.strip():
        return task
    if isinstance(said, list) and said and all(isinstance(block, str | Mapping) for block in said):
        return task
    if said is None or isinstance(said, str | list):
        raise PlaitError("there is nothing to do: the task is empty")
    told = f"a task is text, a list of content blocks, or messages, not {type(task).__name__}"
    raise PlaitError(f"{told}: {task!r:.80}")


def check_given(bound: Bound, state: Mapping[str, Any] | None) -> None:
    """Raise PlaitError or ValueRefused, naming the key, for state that could not be kept."""
    shared = SharedState({}, schema=bound.schema)
    for key, value in (state or {}).items():
        shared.set(key, value)


async def check_new_turn(drive: Drive, *, abandon: bool) -> None:
    """Raise what keeps a thread from a new turn: ThreadPaused unless `abandon`, or ClassChanged.

    What the last turn finished, but lost the checkpoint after, is kept: new input would drop it.
    """
    state = await drive.state()
    questions = await drive.asked_by(state)
    if questions and not abandon:
        raise ThreadPaused(drive.thread_id, questions)
    check_state(drive.bound, state.values)
    if state.tasks and not state.next and all(task.name != START for task in state.tasks):
        await drive.settle()


async def continuation(drive: Drive, answers: Any, meant: Sequence[Question] | None = None) -> Any:
    """A Command with answers or with the failed parts taken up again, or None after a crash.

    `meant` are the questions that were open when the answers were given, if that may be a while ago.

    Raises NothingToResume, ClassChanged, DefinitionChanged, or ThreadPaused when answers are missing.
    """
    state = await drive.state(subgraphs=True)
    if not state.values.get("turn") and not state.tasks:
        raise NothingToResume(f"thread {drive.thread_id!r} has not run anything yet")
    check_values(drive.bound, state)
    done = await drive.done_in_regions() if state.tasks else ()
    check_definition(drive.bound, drive.thread_id, state, done)
    questions = await drive.asked_by(state)
    if meant is not None and {one.id for one in meant} != {one.id for one in questions}:
        told = "the questions that were open when this answer was given have been answered meanwhile"
        raise PlaitError(f"thread {drive.thread_id!r}: {told}; look at what is open now")
    if questions:
        return Command(resume=_answers(drive, questions, answers))
    if answers is not UNSET:
        raise PlaitError(f"thread {drive.thread_id!r} has no open question; resume it without answers")
    if state.tasks:  # not `next`: a step that is done, but lost the checkpoint after it, is not in there
        return None
    ended = state.values.get("outcome")
    if ended and ended != "failed":
        raise NothingToResume(f"thread {drive.thread_id!r} ended {ended!r}; start a new turn with run(...)")
    return Command(update=rewound(state.values), goto=ENTER)


def _answers(drive: Drive, questions: Sequence[Question], answers: Any) -> dict[str, Any]:
    """The answers by id. Raises before anything runs when one of them cannot be taken."""
    thread_id, known = drive.thread_id, {question.id: question for question in questions}
    given = _by_id(thread_id, known, answers)
    for key, answer in given.items():
        try:
            check_answer(known[key], answer, _tool_of(drive.bound, known[key]))
        except PlaitError as error:
            raise PlaitError(
                f"thread {thread_id!r}: the answer to {key} ({known[key].path}) was refused: {error}"
            ) from error
    return {key: marked(answer) if known[key].kind == IN_DOUBT else answer for key, answer in given.items()}


def _by_id(thread_id: str, known: Mapping[str, Question], answers: Any) -> dict[str, Any]:
    if answers is UNSET:
        raise ThreadPaused(thread_id, tuple(known.values()))
    if len(known) == 1 and _is_answer(next(iter(known.values())), answers):
        return {next(iter(known)): answers}
    if isinstance(answers, Mapping):
        if answers and set(answers) <= set(known):
            return dict(answers)
        strange = ", ".join(repr(key) for key in answers if key not in known) or "nothing"
        raise PlaitError(
            f"thread {thread_id!r}: {strange} is no id of an open question; those are: "
            f"{', '.join(sorted(known))}. Give a mapping that is itself an answer under the question's id"
        )
    raise PlaitError(
        f"thread {thread_id!r} has {len(known)} questions; answer by id: {', '.join(sorted(known))}"
    )


def _is_answer(question: Question, given: Any) -> bool:
    """Whether what was given is the one answer itself; a mapping is, where only some mappings can be."""
    if not isinstance(given, Mapping):
        return True
    return question.kind != "question" and question.id not in given and bool({"type", HAPPENED} & set(given))


def _tool_of(bound: Bound, question: Question) -> BaseTool | None:
    """The tool that an approval is about; None where a function of the Snapshot gives the tools."""
    unit = bound.units.get(definition_key(question.path))
    if question.kind != "approval" or unit is None or callable(unit.tools):
        return None
    name = question.question["action_request"]["action"]
    return next((tool for tool in map(as_tool, unit.tools) if tool.name == name), None)

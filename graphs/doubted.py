"""Approvals that are no longer to be given: the call began and its run stopped, so doubt is what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

# LangGraph has no public name for this; a test pins it
from langgraph.types import _interrupt_id

from ..core.ports import Journal, Question
from ..nodes.approvals import DECIDED, TASK
from ..nodes.asking import read_question
from ..nodes.doubt import IN_DOUBT, doubt_of

Begun: TypeAlias = Mapping[str, Mapping[str, Any]]
"""What is noted of calls that were approved and began, by the ids of the questions that asked for it."""

NOTHING_BEGUN: Begun = MappingProxyType({})

ASKED_AGAIN = 16
"""How often an approval may have been asked for anew, because its answer did not fit."""


async def calls_begun(journal: Journal | None, thread_id: str, state: Any) -> Begun:
    """The approved calls of a thread that had begun when it stopped; read only where approvals are asked
    for."""
    asked = (read_question(interrupt)[0] for interrupt in state.interrupts)
    if journal is None or not any(question.kind == "approval" for question in asked):
        return NOTHING_BEGUN
    entries = await journal.entries(thread_id)
    noted = [
        {**entry.result, "state": entry.state}
        for entry in entries.values()
        if entry.state != "paused" and isinstance(entry.result, Mapping) and DECIDED in entry.result
    ]
    return {id: note for note in noted for id in _ids(note[TASK])}


def _ids(task: str) -> Iterator[str]:
    """The ids that the questions of a task have, which LangGraph makes of its namespace and their number."""
    return (_interrupt_id(task, number) for number in range(ASKED_AGAIN))


def as_doubt(question: Question, begun: Begun) -> Question | None:
    """The question of what became of a call, where its approval is still open but it began; None when it is
    known, because it ended and only its checkpoint is missing."""
    note = begun.get(question.id)
    if note is None or question.kind != "approval":
        return question
    if note["state"] == "done":
        return None
    told = doubt_of(note["tool"], note["args"], note["state"])
    return Question(question.id, question.path, told, IN_DOUBT)

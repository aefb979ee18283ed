"""Approvals that are no longer to be given: the call began and its run stopped, so doubt is what is left."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from ..core.ports import Journal, Question
from ..nodes.approvals import ASKED, DECIDED
from ..nodes.asking import read_question
from ..nodes.doubt import IN_DOUBT, doubt_of

Begun: TypeAlias = Mapping[tuple[str, int], Mapping[str, Any]]
"""What is noted of calls that were approved and under way, by path and place in the reply."""

NOTHING_BEGUN: Begun = MappingProxyType({})


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
        if entry.state != "paused" and isinstance(entry.result, Mapping)
    ]
    return {(note["path"], note["place"]): note for note in noted if DECIDED in note}


def as_doubt(question: Question, place: int, begun: Begun) -> Question | None:
    """The question of what became of a call, where its approval is still open but it began; None when it is
    known, because it ended and only its checkpoint is missing."""
    note = begun.get((question.path, place))
    if note is None or question.kind != "approval":
        return question
    request = question.question["action_request"]
    if (request["action"], request["args"]) != (note["tool"], note[ASKED]):
        return question
    if note["state"] == "done":
        return None
    told = doubt_of(note["tool"], note["args"], note["state"])
    return Question(question.id, question.path, told, IN_DOUBT)

"""Doubt: a call was under way when its run stopped, and a person, or the tool, says what became of it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# as in nodes.userconfig: LangGraph has no public names for these; a test pins them
from langgraph._internal._constants import CONF, CONFIG_KEY_SCRATCHPAD
from langgraph.config import get_config
from langgraph.types import interrupt

from ..core.ports import JournalState, QuestionKind

Plain = dict[str, Any]

IN_DOUBT: QuestionKind = "in-doubt"
RUN_AGAIN, SKIP, HAPPENED = "run_again", "skip", "happened"
VERDICT = "plait_verdict"
SKIPPED = "not run again: it is not known whether it happened, and it was decided to go on without it"


@dataclass(frozen=True)
class Settled:
    """What is known of a call that was under way: what it gave, or that it is left out."""

    value: Any = None
    skipped: bool = False


def answers_so_far() -> int:
    """How many answers the questions of this task have got, to whatever they were."""
    pad = get_config()[CONF][CONFIG_KEY_SCRATCHPAD]
    return len(pad.resume) + (pad.get_null_resume() is not None)


def word_on(question: Plain, answers: int) -> Any:
    """A person's word on what became of a call, after those `answers` that were to something else."""
    number = 0
    while not is_verdict(value := interrupt(question), known=number >= answers):
        number += 1
    return value[VERDICT] if is_marked(value) else value


def doubt_of(tool: str, args: Mapping[str, Any], state: JournalState, failed: str = "") -> Plain:
    """What a person is asked of a call that was under way."""
    told = "was cancelled while it ran" if state == "cancelled" else "was under way when the run stopped"
    return {
        "tool": tool,
        "args": dict(args),
        "state": state,
        "message": f"{tool} {told}; it is not known whether it happened{failed}",
        "answers": [RUN_AGAIN, SKIP, {HAPPENED: "what it gave"}],
    }


def marked(answer: Any) -> Plain:
    """An answer to the question of doubt, told apart from all others."""
    return {VERDICT: answer}


def is_marked(answer: Any) -> bool:
    """Whether an answer is known to be to the question of doubt, wherever it comes."""
    return isinstance(answer, Mapping) and set(answer) == {VERDICT}


def is_verdict(answer: Any, *, known: bool = True) -> bool:
    """Whether an answer says what became of a call in doubt; it has to be marked unless it is `known` to be
    to that question."""
    if is_marked(answer):
        return True
    return known and (answer in (RUN_AGAIN, SKIP) or (isinstance(answer, Mapping) and HAPPENED in answer))


async def probed(probe: Callable[..., Any], args: Plain) -> Any:
    """What the tool says of a call, or None for one that did not happen."""
    if inspect.iscoroutinefunction(probe):
        return await probe(**args)
    found = await asyncio.to_thread(probe, **args)
    return await found if inspect.isawaitable(found) else found

"""The client of a thread under a crash sweep: it outlives the server, and knows what was answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..nodes.doubt import HAPPENED, IN_DOUBT, RUN_AGAIN
from .effects import Happened, read_effects
from .life import Life
from .seen import Seen

Answer = Callable[[Any], Any]
"""What a person answers to a question that the thread asks by itself."""

InDoubt = Callable[[Mapping[str, Any], Sequence[Happened]], Any]
"""What a person answers when it is not known whether a call happened: `{"happened": …}`, `"run_again"` or
`"skip"`. Given the question (`tool`, `args`, …) and all effects so far."""


def truthful(question: Mapping[str, Any], effects: Sequence[Happened]) -> Any:
    """The answer of a person who looks it up: what the call gave, or that it is to run again.

    Calls of one tool are told apart by their arguments.
    """
    for done in reversed(effects):
        if done.tool == question["tool"] and _fits(done.args, question["args"]):
            return {HAPPENED: done.result}
    return RUN_AGAIN


def _fits(logged: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    return all(asked[name] == value for name, value in logged.items() if name in asked)


def unanswered(question: Any) -> Any:
    """The policy of a client that expects no questions."""
    raise ValueError(
        f"the thread asks {question!r}; say what is answered, as in answer=lambda question: 'yes'"
    )


@dataclass(frozen=True)
class Client:
    """Sends the tasks in order, each once, and keeps the answers beside the thread's file."""

    tasks: Sequence[Any]
    answer: Answer = unanswered
    in_doubt: InDoubt = truthful

    def answered(self, living: Life) -> list[Seen]:
        """What was answered by now, one for each turn."""
        path = self._path(living.folder)
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def receive(self, living: Life, turn: Seen) -> None:
        """Take the answer to the next task."""
        with self._path(living.folder).open("a") as opened:
            opened.write(json.dumps(turn) + "\n")

    def reply(self, living: Life, question: Any) -> Any:
        """What is answered to a question, `question` being what an interrupt holds or asks."""
        doubt = _doubt(question)
        if doubt is None:
            return self.answer(question)
        living.doubts += 1
        return self.in_doubt(doubt, read_effects(living.effects))

    def _path(self, folder: Path) -> Path:
        return folder / "answered.jsonl"


def _doubt(value: Any) -> Mapping[str, Any] | None:
    """The in-doubt question in an interrupt's value, or in what it asks."""
    if not isinstance(value, Mapping):
        return None
    if value.get("type") == IN_DOUBT and isinstance(value.get("question"), Mapping):
        return value["question"]  # type: ignore[no-any-return]
    return value if {"tool", "args", "answers"} <= set(value) else None

"""Answers to a paused run: what a person typed as what the run takes.

To a tool call: `approve`, `edit {json}`, `reject [why]`, `respond text`. To a call in doubt: `run_again`,
`skip`, `happened [json or text]`. To any other question: the text, or `json:…`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ..core.errors import PlaitError
from ..core.ports import Question
from ..nodes.decisions import approve, edit, reject, respond
from ..nodes.doubt import HAPPENED, RUN_AGAIN, SKIP
from .guard import Usage

TAKES = {
    "approval": "approve, edit {json}, reject [why], respond text",
    "in-doubt": "run_again, skip, happened [result]",
    "question": "the answer",
}


def answer_of(asked: Question, said: str) -> Any:
    """What was typed, as an answer to a question. Raises PlaitError for what it does not take."""
    if said.startswith("json:"):
        return _json(said.removeprefix("json:"))
    if asked.kind == "question":
        return said
    verb, rest = _split(said)
    found = (_decision if asked.kind == "approval" else _doubt)(verb, rest)
    if found is None:
        raise PlaitError(f"{said!r} is no answer to {asked.id}; it takes: {TAKES[asked.kind]}")
    return found


def answers_for(questions: Sequence[Question], words: Sequence[str], by_id: Sequence[str]) -> dict[str, Any]:
    """The answers by id: `words` in the order of the questions, `by_id` as `id=answer`.

    One question takes all words. An id may be cut short, or be the path of the part that asks, where that
    leaves one question. Raises PlaitError when words and questions do not match.
    """
    if not questions and (words or by_id):
        raise Usage("there is no open question, so nothing to answer")
    pairs = [_named(questions, one) for one in by_id]
    given = dict(pairs)
    if len(given) < len(pairs):
        raise Usage("--answer names one question twice; answer each once")
    left = [asked for asked in questions if asked.id not in given]
    if words and len(left) == 1:
        return given | {left[0].id: answer_of(left[0], " ".join(words))}
    if words and len(words) != len(left):
        told = f"there are {len(left)} open questions, and {len(words)} answers"
        raise Usage(f"{told}; answer each by its id: --answer ID=ANSWER")
    return given | {asked.id: answer_of(asked, word) for asked, word in zip(left, words, strict=False)}


def asked_for(asked: Question, read: Callable[[str], str], refuse: Callable[[str], None]) -> Any:
    """The answer that a person gives to a question; asked again until it fits."""
    while True:
        try:
            return answer_of(asked, read(TAKES[asked.kind]).strip())
        except PlaitError as error:
            refuse(str(error))


def _named(questions: Sequence[Question], given: str) -> tuple[str, Any]:
    key, sign, said = given.partition("=")
    if not sign or not key:
        raise Usage(f"--answer {given!r}: write ID=ANSWER")
    found = [asked for asked in questions if asked.id == key] or [
        asked for asked in questions if asked.path == key or asked.id.startswith(key)
    ]
    if len(found) != 1:
        known = ", ".join(f"{asked.id} ({asked.path})" for asked in questions) or "none"
        raise Usage(f"--answer: {key!r} names {len(found)} open questions; those are: {known}")
    return found[0].id, answer_of(found[0], said)


def _split(said: str) -> tuple[str, str]:
    """The verb and what follows it, after a space, a colon or an equals sign."""
    for at, sign in enumerate(said):
        if sign in " :=":
            return said[:at], said[at + 1 :].strip()
    return said, ""


def _decision(verb: str, rest: str) -> dict[str, Any] | None:
    match verb.lower(), bool(rest):
        case ("approve" | "accept" | "y" | "yes", False):
            return approve()
        case ("edit", True):
            return edit(_mapping(rest))
        case ("reject" | "n" | "no", _):
            return reject(rest or None)
        case ("respond", True):
            return respond(rest)
    return None


def _doubt(verb: str, rest: str) -> Any:
    if verb in (RUN_AGAIN, SKIP) and not rest:
        return verb
    if verb != HAPPENED:
        return None
    try:
        return {HAPPENED: json.loads(rest) if rest else None}
    except ValueError:
        return {HAPPENED: rest}


def _mapping(text: str) -> dict[str, Any]:
    found = _json(text)
    if not isinstance(found, dict):
        raise PlaitError(f"edit needs the arguments as a JSON object, not {text!r:.80}")
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise PlaitError(f"{text!r:.80} is no JSON: {error}") from error

"""Calling LangGraph's tasks, whose results a resume does not make again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import signature
from typing import Any

from langgraph.errors import GraphInterrupt
from langgraph.func import task


def call_task(name: str, body: Callable[[Any], Awaitable[Any]], argument: Any) -> Any:
    """Start `body(argument)` as a task named `name`: a future of its result.

    Results are matched on resume by the order of the calls; `argument` is shown in traces.
    """
    body.__signature__ = _OF_A_BODY  # type: ignore[attr-defined]  # LangGraph would work it out twice
    named: Any = task(name=name)
    return named(body)(argument)


def pause(pauses: Sequence[GraphInterrupt]) -> GraphInterrupt:
    """One interrupt with every question of `pauses`, each once."""
    questions = {
        question.id: question for asked in pauses for question in (asked.args[0] if asked.args else ())
    }
    return GraphInterrupt(tuple(questions.values()))


def _body(argument: Any) -> None:
    """Has the signature of every body."""


_OF_A_BODY = signature(_body)

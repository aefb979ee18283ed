"""The scripted replies of a file as a script of the scripted model."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ..spec.mock import Mock, Reply, Rule, Seen, chosen
from .replies import ReplyLike, call, fail, reply
from .script import Request, Steps

_OBSERVATION = re.compile(r"Observation from (\w+)[^\n]*:\n(.*)", re.S)
_FINAL = "Final Answer:"


class ScriptedFailure(RuntimeError):
    """The error of a scripted reply that says `fail`."""


def script_of(mock: Mock) -> dict[str, Steps]:
    """The script that plays a mock, by unit id.

    Where a unit is offered no tools, since it speaks the text protocol or answers in JSON, its calls are
    written as text.
    """
    return {unit: _steps(replies) for unit, replies in mock.units.items()}


def _steps(replies: tuple[Any, ...]) -> Steps:
    if replies and isinstance(replies[0], Rule):
        return partial(_ruled, replies)
    return [_native(each) for each in replies]


def _ruled(rules: tuple[Rule, ...], request: Request) -> ReplyLike | None:
    found = chosen(rules, seen_in(request))
    if found is None:
        return None
    return _native(found) if request.tools or not found.calls else _as_text(found, _FINAL in request.system)


def seen_in(request: Request) -> Seen:
    """What a request holds since the user last spoke; observations of the text protocol are tool results.

    What a steer says after a tool's result is added to what the user said, and changes nothing else.
    """
    user, rounds, tool, result = "", 1, None, ""
    for message in request.messages:
        told = _OBSERVATION.match(message.text) if isinstance(message, HumanMessage) else None
        if told:
            tool, result = told[1], told[2]
        elif isinstance(message, HumanMessage) and tool is not None:
            user = f"{user}\n{message.text}"
        elif isinstance(message, HumanMessage):
            user, rounds, tool, result = str(message.text), 1, None, ""
        elif isinstance(message, AIMessage):
            rounds, tool = rounds + 1, None
        elif isinstance(message, ToolMessage):
            tool, result = message.name, str(message.text)
    return Seen(user, rounds, tool, result)


def _native(made: Reply) -> ReplyLike:
    if made.fail is not None:
        return fail(ScriptedFailure(made.fail))
    return reply(made.text, *(call(each.tool, each.args) for each in made.calls))


def _as_text(made: Reply, is_protocol: bool) -> ReplyLike:
    first = made.calls[0]
    if first.tool != "resolve":
        return reply(f"{made.text}\nAction: {first.tool}\nAction Input: {_json(first.args)}".strip())
    args = dict(first.args)
    value = args["value"] if set(args) == {"value"} else args
    said = value if isinstance(value, str) else _json(value)
    return reply(f"{_FINAL} {said}" if is_protocol else _json(args))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

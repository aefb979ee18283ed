"""Calls that a person has to approve: what is asked, what may be answered, and what comes of it.

Question and answer have the form of LangChain's Agent Inbox.
Source: github.com/langchain-ai/agent-inbox, `HumanInterrupt` and `HumanResponse`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from ..core.errors import PlaitError
from ..core.ports import Question
from .asking import Asker, task_namespace
from .calls import Call
from .decide import answer
from .declared import APPROVAL
from .doubt import HAPPENED, RUN_AGAIN, SKIP
from .tools import UnitTool

if TYPE_CHECKING:
    from .invoke import CallResult

DECISION = "plait_decision"
"""Where a tool message keeps what a person decided of its call, until the unit ends."""

DECIDED, TASK = "decided", "task"
"""What the journal notes of a call that a person approved: the decision, and the task that asked for it."""

CONFIG = {"allow_ignore": True, "allow_respond": True, "allow_edit": True, "allow_accept": True}

Verdict = Literal["accept", "edit", "reject", "respond"]
_VERDICTS: dict[str, Verdict] = {
    "accept": "accept",
    "edit": "edit",
    "ignore": "reject",
    "reject": "reject",
    "response": "respond",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided of one call. `why` is the reason of a rejection or the text of a response."""

    type: Verdict
    args: Mapping[str, Any] | None = None
    why: str = ""
    by: str = ""

    @property
    def runs(self) -> bool:
        return self.type in ("accept", "edit")

    def told(self, name: str) -> str:
        """What the model is told of a call that was rejected."""
        told = f"{name} was not run: a person rejected it"
        return f"{told}: {self.why}" if self.why else told

    def to_plain(self) -> dict[str, Any]:
        plain = {"type": self.type, "args": self.args, "why": self.why, "by": self.by}
        return {name: value for name, value in plain.items() if value not in (None, "")}


async def approved(
    run: Callable[[Call, UnitTool, Mapping[str, Any]], Awaitable[CallResult]],
    call: Call,
    tool: UnitTool,
    why: str,
    asker: Asker,
    begun: Mapping[str, Any] | None,
) -> CallResult | ToolMessage:
    """What comes of a call that needs approval: its result, or the message that answers it instead.

    Pauses before anything of the tool runs; `why` is what the person is told. Once it has `begun`, there is
    nothing left to decide: what had been decided then holds.
    """
    asked = _asked(call, tool)
    if begun is not None and DECIDED in begun:
        decision, task = Decision(**begun[DECIDED]), begun[TASK]
    else:
        decision, task = decided(tool.tool, asked, why, asker), task_namespace()
    if not decision.runs:
        return _noted(_answered(call, tool, decision), decision)
    changed = call if decision.args is None else replace(call, args=dict(decision.args))
    result = await run(changed, tool, {DECIDED: decision.to_plain(), TASK: task})
    message = result.message if decision.args is None else _told(result.message, decision)
    return replace(result, message=_noted(message, decision))


def needs_approval(call: Call, tool: UnitTool) -> str:
    """Why a person has to approve the call, "" when nobody has to."""
    return why_ask(tool.tool, _asked(call, tool)) if (tool.tool.metadata or {}).get(APPROVAL) else ""


def _asked(call: Call, tool: UnitTool) -> dict[str, Any]:
    return {key: value for key, value in call.args.items() if key not in tool.injection.names}


def why_ask(tool: BaseTool, args: Mapping[str, Any]) -> str:
    """Why a person has to approve a call with these arguments, "" when nobody has to. A condition that
    raises asks."""
    rule, usual = (tool.metadata or {}).get(APPROVAL), f"{tool.name} needs approval"
    if callable(rule):
        try:
            rule = rule(args)
        except Exception as error:
            return f"{usual} (its condition raised {type(error).__name__}: {error})"
    return (rule if isinstance(rule, str) else usual) if rule else ""


def decided(tool: BaseTool, args: Mapping[str, Any], why: str, asker: Asker) -> Decision:
    """What a person decides of a call. An answer that does not fit, which only a caller other than Plait
    can give, is asked for again."""
    request = {"action": tool.name, "args": dict(args)}
    asked = {"action_request": request, "config": dict(CONFIG), "description": why}
    given = asker.ask(asked, "approval")
    while True:
        try:
            return read_decision(asked, given, tool)
        except PlaitError as error:
            told = f"{why}\n\nThe last answer was refused: {error}"
            given = asker.ask({**asked, "description": told}, "approval")


def check_answer(question: Question, given: Any, tool: BaseTool | None = None) -> None:
    """Raise PlaitError for an answer that the question does not take; `tool` is the one it is about."""
    if question.kind == "approval":
        read_decision(question.question, given, tool)
    elif question.kind == "in-doubt":
        happened = isinstance(given, Mapping) and set(given) == {HAPPENED}
        if given not in (RUN_AGAIN, SKIP) and not happened:
            raise PlaitError(
                f"{given!r:.80} does not say what became of the call; "
                f"answer {RUN_AGAIN!r}, {SKIP!r} or {{{HAPPENED!r}: result}}"
            )


def read_decision(asked: Mapping[str, Any], given: Any, tool: BaseTool | None = None) -> Decision:
    """A response of Agent Inbox, alone or in a list, as a decision. Raises PlaitError for anything else."""
    response = given[0] if isinstance(given, list) and len(given) == 1 else given
    kind = response.get("type") if isinstance(response, Mapping) else None
    if not isinstance(response, Mapping) or kind not in _VERDICTS:
        raise PlaitError(
            f"{given!r:.80} is no decision on {asked['action_request']['action']}; answer with approve(), "
            f"edit(args), reject(why) or respond(text), or with {{'type': …, 'args': …}} where the type is "
            f"one of {', '.join(_VERDICTS)}"
        )
    args, verdict = response.get("args"), _VERDICTS[kind]
    by = str(response.get("by") or "")
    if verdict == "edit":
        return Decision(verdict, _edited(asked["action_request"], args, tool), by=by)
    if verdict == "respond" and not (isinstance(args, str) and args.strip()):
        raise PlaitError("a response needs its text in 'args'")
    why = str(args) if verdict != "accept" and isinstance(args, str) else ""
    return Decision(verdict, why=why, by=by)


def _edited(request: Mapping[str, Any], given: Any, tool: BaseTool | None) -> dict[str, Any]:
    """The arguments to run with instead. Agent Inbox gives every one as text."""
    name, asked = request["action"], request["args"]
    is_request = isinstance(given, Mapping) and set(given) == {"action", "args"}
    if is_request and given["action"] not in ("", name):
        raise PlaitError(f"an edit cannot make another call of {name}: {given['action']!r}")
    args = given["args"] if is_request else given
    if not isinstance(args, Mapping):
        raise PlaitError(f"an edit of {name} gives its arguments as a mapping, not {args!r:.80}")
    read = {key: _as_asked(value, asked.get(key)) for key, value in args.items()}
    if tool is not None:
        _check_args(name, read, tool)
    return read


def _as_asked(value: Any, asked: Any) -> Any:
    """Text in place of what was no text is JSON, where it can be read as that."""
    if isinstance(value, str) and asked is not None and not isinstance(asked, str):
        with suppress(ValueError):
            return json.loads(value)
    return value


def _check_args(name: str, args: Mapping[str, Any], tool: BaseTool) -> None:
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        known, needed = schema.get("properties"), schema.get("required", ())
    else:
        known, needed = getattr(schema, "model_fields", None), ()
    problems = [f"{key}: is missing" for key in needed if key not in args]
    if known is not None:
        problems += [f"{key}: there is no such argument" for key in args if key not in _names(known)]
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        try:
            schema.model_validate(dict(args))
        except ValidationError as error:
            problems += [f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in error.errors()[:5]]
    if problems:
        raise PlaitError(f"{name} does not take these arguments: {'; '.join(problems)}")


def _names(fields: Mapping[str, Any]) -> set[str]:
    return set(fields) | {field.alias for field in fields.values() if getattr(field, "alias", None)}


def _answered(call: Call, tool: UnitTool, decision: Decision) -> ToolMessage:
    """The answer to a call that does not run."""
    if decision.type == "respond":
        return answer(call, decision.why)
    return answer(call, decision.told(tool.name), error=True)


def _told(message: ToolMessage, decision: Decision) -> ToolMessage:
    """The result of a call that ran with other arguments than the model gave, which has to know."""
    told = f"A person changed the arguments to {json.dumps(decision.args, ensure_ascii=False, default=str)}."
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{told}\n{content}"})
    return message.model_copy(update={"content": [{"type": "text", "text": told}, *content]})


def _noted(message: ToolMessage, decision: Decision) -> ToolMessage:
    kept = {**message.additional_kwargs, DECISION: decision.to_plain()}
    return message.model_copy(update={"additional_kwargs": kept})

"""Tool calling over plain text, for models that have none.

The model writes `Need / Action / Action Input` or `Final Answer`; here that becomes tool calls and
back, so that the ReAct loop, its budgets and its history are the same as with any other model.
Source: the Thought / Action / Observation form of ReAct (Yao et al., 2022).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig

from ..nodes.answers import parse_json_text, without_thinking
from ..nodes.history import message_text
from ..nodes.tools import RESOLVE

_MARK = r"^[ \t>*_#`-]*{word}[ \t*_`]*[:：][ \t*_`]*"
ACTION = re.compile(_MARK.format(word="Action"), re.I | re.M)
ACTION_INPUT = re.compile(_MARK.format(word=r"Action[ _]?Input"), re.I | re.M)
FINAL = re.compile(_MARK.format(word=r"Final[ _]?Answer"), re.I | re.M)
OBSERVATION = re.compile(_MARK.format(word="Observation"), re.I | re.M)

INSTRUCTIONS = """Work in rounds. In each round write one of these two forms, and nothing after it.

To use a tool:
Need: what you need to know or do next
Action: the tool's name
Action Input: its arguments as one JSON object

To end, when you have the result (this is what `resolve` stands for):
Final Answer: {final}

After an action you are told its result as an Observation; never write one yourself.
The tools:
{tools}"""


@dataclass(frozen=True)
class Written:
    """What a reply said: the tool it named with the text of its arguments, or neither."""

    name: str | None = None
    args: dict[str, Any] | None = None
    raw: str = ""


def read(text: str, *, plain_answer: bool) -> Written:
    """The action or final answer in `text`, whichever comes first; what follows is not read.

    `plain_answer`: the final answer may be any text instead of JSON.
    """
    said = OBSERVATION.split(without_thinking(text))[0]
    action, final = ACTION.search(said), FINAL.search(said)
    if final and (action is None or final.start() < action.start()):
        return _final(said[final.end() :], plain_answer)
    if action is None:
        return Written()
    rest = said[action.end() :]
    given = ACTION_INPUT.search(rest)
    name = rest[: given.start() if given else len(rest)].strip().strip("`*\"' ").splitlines()
    if not name:
        return Written()
    raw = rest[given.end() :].strip() if given else "{}"
    return Written(name[0].strip(), _object(raw), raw)


def _final(raw: str, plain_answer: bool) -> Written:
    found = _object(raw)
    if plain_answer and (found is None or "value" not in found):
        return Written(RESOLVE, {"value": raw.strip()}, raw)
    return Written(RESOLVE, found if found is not None else _wrapped(raw), raw.strip())


def _object(raw: str) -> dict[str, Any] | None:
    return next((value for value in parse_json_text(raw) if isinstance(value, dict)), None)


def _wrapped(raw: str) -> dict[str, Any] | None:
    """A final answer that is JSON but no object, as the value of a plain output type."""
    found = parse_json_text(raw)
    return {"value": found[0]} if found else None


def as_text(messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> list[BaseMessage]:
    """The conversation without tool messages: results are observations in user messages."""
    rendered: list[BaseMessage] = []
    system = ""
    for message in messages:
        if isinstance(message, SystemMessage):
            system = message_text(message)
        elif isinstance(message, ToolMessage):
            _observed(rendered, message)
        elif isinstance(message, AIMessage):
            rendered.append(AIMessage(message_text(message) or _rewritten(message)))
        else:
            rendered.append(message)
    told = f"{system}\n\n{_instructions(tools)}" if system else _instructions(tools)
    return [SystemMessage(told), *rendered]


def _observed(rendered: list[BaseMessage], message: ToolMessage) -> None:
    mark = " (error)" if message.status == "error" else ""
    text = f"Observation from {message.name}{mark}:\n{message_text(message)}"
    if rendered and isinstance(rendered[-1], HumanMessage) and rendered[-1].additional_kwargs.get("observed"):
        text = f"{message_text(rendered.pop())}\n\n{text}"
    rendered.append(HumanMessage(text, additional_kwargs={"observed": True}))


def _rewritten(message: AIMessage) -> str:
    forms = [
        f"Action: {c['name']}\nAction Input: {json.dumps(c['args'], ensure_ascii=False)}"
        for c in message.tool_calls
    ]
    return "\n\n".join(forms)


def _instructions(tools: Sequence[dict[str, Any]]) -> str:
    functions = [tool["function"] for tool in tools]
    resolve = next((f for f in functions if f["name"] == RESOLVE), None)
    listed = [_listed(function) for function in functions if function["name"] != RESOLVE]
    final = "the answer, as text"
    if resolve is not None and not _is_text(resolve["parameters"]):
        final = f"one JSON object that fits {json.dumps(resolve['parameters'], ensure_ascii=False)}"
    return INSTRUCTIONS.format(final=final, tools="\n".join(listed) or "(none)")


def _listed(function: dict[str, Any]) -> str:
    arguments = json.dumps(function["parameters"], ensure_ascii=False)
    return f"- {function['name']}: {function.get('description', '')}\n  arguments: {arguments}"


def _is_text(parameters: dict[str, Any]) -> bool:
    properties = parameters.get("properties", {})
    return list(properties) == ["value"] and properties["value"].get("type") == "string"


@dataclass
class TextProtocol(Runnable[Any, AIMessage]):
    """A chat model seen through the text protocol; `bind_tools` is what the loop needs of it."""

    model: Any
    tools: list[dict[str, Any]] = field(default_factory=list)

    def bind_tools(self, tools: Sequence[dict[str, Any]], **_: Any) -> TextProtocol:
        return TextProtocol(self.model, list(tools))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        return self._parsed(self.model.invoke(as_text(input, self.tools), config, **kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        return self._parsed(await self.model.ainvoke(as_text(input, self.tools), config, **kwargs))

    def _parsed(self, reply: AIMessage) -> AIMessage:
        resolve = next((t["function"] for t in self.tools if t["function"]["name"] == RESOLVE), None)
        plain = resolve is None or _is_text(resolve["parameters"])
        written = read(message_text(reply), plain_answer=plain)
        if written.name is None:
            return reply
        if resolve is None and written.name == RESOLVE:
            return reply.model_copy(update={"content": written.raw.strip()})
        if written.args is None:
            broken = {
                "id": None,
                "name": written.name,
                "args": written.raw,
                "error": None,
                "type": "invalid_tool_call",
            }
            return reply.model_copy(update={"invalid_tool_calls": [broken]})
        called = {"id": None, "name": written.name, "args": written.args, "type": "tool_call"}
        return reply.model_copy(update={"tool_calls": [called]})

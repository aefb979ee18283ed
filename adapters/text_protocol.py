"""Tool calling over plain text, for models that have none.

The model writes `Need / Action / Action Input` or `Final Answer`; here that becomes tool calls and
back, so that the ReAct loop, its budgets and its history are the same as with any other model.
Source: the Thought / Action / Observation form of ReAct (Yao et al., 2022).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig

from ..nodes.answers import parse_json_text, without_thinking
from ..nodes.history import message_text
from ..nodes.request import alternating
from ..nodes.tools import RESOLVE

_MARK = r"^[ \t>*_#`-]*(?:{word})[ \t*_`]*[:：][ \t*_`]*"
ACTION = re.compile(_MARK.format(word="Action"), re.I | re.M)
ACTION_INPUT = re.compile(_MARK.format(word=r"Action[ _]?Input"), re.I | re.M)
FINAL = re.compile(_MARK.format(word=r"Final[ _]?Answer"), re.I | re.M)
NEXT = re.compile(_MARK.format(word=r"Observation|Need|Thought|Action|Final[ _]?Answer"), re.I | re.M)
NO_ACTION = frozenset({"", "none", "n/a", "null", "无"})
"""What models write as an action when they mean to take none."""

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

Answer = Literal["object", "value", "text"]
"""What a final answer is: a JSON object, one plain value, or any text."""


@dataclass(frozen=True)
class Written:
    """What a reply said: the tool it named with its arguments, or neither.

    `text` is the reply up to the end of what was read, `raw` the arguments as they were written;
    `args` is None where those are no JSON object.
    """

    name: str | None = None
    args: dict[str, Any] | None = None
    raw: str = ""
    text: str = ""


def read(text: str, *, answer: Answer = "object") -> Written:
    """The action or final answer in `text`, whichever comes first; what follows is not read.

    Thinking blocks are left out, and a block without an end leaves nothing. Never raises.
    """
    said = without_thinking(text).strip()
    action, final = ACTION.search(said), FINAL.search(said)
    if final is not None and (action is None or final.start() < action.start()):
        return replace(_final(said[final.end() :], answer), text=said)
    if action is None:
        return Written(text=said)
    called = _action(said, action.end())
    if str(called.name).casefold() in NO_ACTION:
        return replace(_final(said[final.end() :], answer), text=said) if final else Written(text=said)
    if re.fullmatch(r"final[ _]?answer", str(called.name), re.I):
        return replace(_final(called.raw, answer), text=called.text)
    return called


def _action(said: str, start: int) -> Written:
    """The call whose name begins at `start`. Its input ends with its JSON, or where the next form begins."""
    line_end = _end(said, "\n", start)
    name = said[start:line_end].strip().strip("`*\"' ")
    given = ACTION_INPUT.search(said, start)
    following = NEXT.search(said, line_end)
    if given is None or (following is not None and following.start() < given.start()):
        return Written(name, {}, "{}", said[:line_end].rstrip())
    end = _input_end(said, given.end())
    raw = said[given.end() : end].strip()
    return Written(name, _object(raw), raw, said[:end].rstrip())


def _input_end(said: str, start: int) -> int:
    """JSON may hold lines that look like a form, so it is read first."""
    opened = re.compile(r"\s*(?:```|~~~)?(?:json)?\s*(?=\{)", re.I).match(said, start)
    if opened is not None:
        try:
            _, end = json.JSONDecoder(strict=False).raw_decode(said, opened.end())
        except (ValueError, RecursionError):
            end = None
        if end is not None:
            closed = re.compile(r"\s*(?:```|~~~)").match(said, end)
            return closed.end() if closed else int(end)
    following = NEXT.search(said, start)
    return following.start() if following else len(said)


def _end(text: str, mark: str, start: int) -> int:
    at = text.find(mark, start)
    return len(text) if at < 0 else at


def _final(raw: str, answer: Answer) -> Written:
    found, said = parse_json_text(raw), raw.strip()
    held = _object(raw)
    if answer == "object":
        return Written(RESOLVE, held, said)
    if held is not None and "value" in held:
        return Written(RESOLVE, held, said)
    if answer == "text" or not found:
        return Written(RESOLVE, {"value": said} if said else None, said)
    return Written(RESOLVE, {"value": found[0]}, said)


def _object(raw: str) -> dict[str, Any] | None:
    return next((value for value in parse_json_text(raw) if isinstance(value, dict)), None)


def as_text(
    messages: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]],
    names: Mapping[str, str] | None = None,
) -> list[BaseMessage]:
    """The conversation without tool messages: results are observations in user messages.

    `names`: a tool's name on the wire -> the name to show.
    """
    shown = names or {}
    rendered: list[BaseMessage] = []
    system = ""
    for message in messages:
        if isinstance(message, SystemMessage):
            system = message_text(message)
        elif isinstance(message, ToolMessage):
            _observed(rendered, message, shown)
        elif isinstance(message, AIMessage):
            rendered.append(AIMessage(message_text(message) or _rewritten(message, shown)))
        else:
            rendered.append(message)
    told = _instructions(tools, shown)
    return [SystemMessage(f"{system}\n\n{told}" if system else told), *rendered]


def _observed(rendered: list[BaseMessage], message: ToolMessage, names: Mapping[str, str]) -> None:
    mark = " (error)" if message.status == "error" else ""
    text = f"Observation from {names.get(message.name or '', message.name)}{mark}:\n{message_text(message)}"
    if rendered and isinstance(rendered[-1], HumanMessage) and rendered[-1].additional_kwargs.get("observed"):
        text = f"{message_text(rendered.pop())}\n\n{text}"
    rendered.append(HumanMessage(text, additional_kwargs={"observed": True}))


def _rewritten(message: AIMessage, names: Mapping[str, str]) -> str:
    forms = [
        f"Action: {names.get(call['name'], call['name'])}\n"
        f"Action Input: {json.dumps(call['args'], ensure_ascii=False)}"
        for call in message.tool_calls
    ]
    return "\n\n".join(forms)


def _instructions(tools: Sequence[dict[str, Any]], names: Mapping[str, str]) -> str:
    functions = [tool["function"] for tool in tools]
    listed = [_listed(function, names) for function in functions if function["name"] != RESOLVE]
    resolve = _resolve(tools)
    final = "the answer, as text"
    if resolve is not None and not (_is_wrapped(resolve) and _is_free_text(_value(resolve))):
        final = f"one JSON object that fits {json.dumps(resolve['parameters'], ensure_ascii=False)}"
    return INSTRUCTIONS.format(final=final, tools="\n".join(listed) or "(none)")


def _listed(function: dict[str, Any], names: Mapping[str, str]) -> str:
    arguments = json.dumps(function["parameters"], ensure_ascii=False)
    name = names.get(function["name"], function["name"])
    return f"- {name}: {function.get('description', '')}\n  arguments: {arguments}"


def _resolve(tools: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    return next((tool["function"] for tool in tools if tool["function"]["name"] == RESOLVE), None)


def answer_kind(tools: Sequence[dict[str, Any]]) -> Answer:
    """What the final answer is to be, by the parameters of `resolve`."""
    resolve = _resolve(tools)
    if resolve is None:
        return "text"
    if not _is_wrapped(resolve):
        return "object"
    kinds = {str(one.get("type")) for one in _value(resolve).get("anyOf", ())}
    is_decimal = kinds == {"number", "string"}  # as text it keeps the digits that a float would round
    return "text" if is_decimal or _is_free_text(_value(resolve)) else "value"


def _is_wrapped(resolve: dict[str, Any]) -> bool:
    return list(resolve["parameters"].get("properties", {})) == ["value"]


def _value(resolve: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = resolve["parameters"]["properties"]["value"]
    return found


def _is_free_text(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "string" and not {"enum", "const", "format", "pattern"} & set(schema)


@dataclass
class TextProtocol(Runnable[Any, AIMessage]):
    """A chat model seen through the text protocol; `bind_tools` is what the loop needs of it."""

    model: Any
    tools: list[dict[str, Any]] = field(default_factory=list)
    names: Mapping[str, str] = field(default_factory=dict)
    strict_alternation: bool = False

    def bind_tools(self, tools: Sequence[dict[str, Any]], **_: Any) -> TextProtocol:
        return replace(self, tools=list(tools))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        return self._parsed(self.model.invoke(self._asked(input), config, **kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        return self._parsed(await self.model.ainvoke(self._asked(input), config, **kwargs))

    def _asked(self, messages: Any) -> list[BaseMessage]:
        written = as_text(messages, self.tools, self.names)
        return alternating(written) if self.strict_alternation else written

    def _parsed(self, reply: AIMessage) -> AIMessage:
        """The reply with its action or final answer as a call, and without what stands after it."""
        written = read(message_text(reply), answer=answer_kind(self.tools))
        if written.name is None:
            return reply.model_copy(update={"content": written.text})
        if written.name == RESOLVE and _resolve(self.tools) is None:
            return reply.model_copy(update={"content": written.raw})
        wires = {shown: wire for wire, shown in self.names.items()}
        called = {"id": None, "name": wires.get(written.name, written.name)}
        if written.args is None:
            broken = {**called, "args": written.raw, "error": None, "type": "invalid_tool_call"}
            return reply.model_copy(update={"content": written.text, "invalid_tool_calls": [broken]})
        call = {**called, "args": written.args, "type": "tool_call"}
        return reply.model_copy(update={"content": written.text, "tool_calls": [call]})

"""Other forms of tools: definitions with a JSON schema, a registry of them, one handler for all."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langgraph.errors import GraphBubbleUp

from ..core.errors import DefinitionError, PlaitError
from .content import NO_OUTPUT, block_text, to_content
from .lingering import noted

Execute = Callable[[dict[str, Any]], Any]
ToolHandler = Callable[[str, str], Any]
"""Runs a tool by name with its arguments as JSON text, sync or async."""


class ToolFailed(PlaitError):
    """A tool said that it failed; the model is told its text."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gives: whether it worked, a line about it, and the content.

    A result that is not `ok` reaches the model marked as an error.
    """

    ok: bool
    summary: str
    content: Any = None

    @property
    def text(self) -> str:
        """Summary and content as the model reads them; content that is not text comes as JSON."""
        content = "" if self.content is None else to_content(self.content, "tool")
        said = content if isinstance(content, str) else "".join(block_text(one) or "" for one in content)
        return "\n".join(part for part in (self.summary, said) if part)


@dataclass(frozen=True, slots=True)
class Observation:
    """One tool run in a series: its number from 1, the tool, and what it gave."""

    step: int
    tool_name: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool by its JSON schema: `execute` gets the arguments as one mapping, sync or async."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Execute

    @property
    def chat_tool(self) -> dict[str, Any]:
        """The tool as chat models are told of it."""
        schema = {"type": "object", "properties": {}, **self.parameters}
        function = {"name": self.name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": function}

    def as_tool(self) -> BaseTool:
        """The same as a LangChain tool."""

        async def call(**arguments: Any) -> Any:
            return shown(await _called(self.execute, arguments))

        return StructuredTool.from_function(
            coroutine=call,
            name=self.name,
            description=self.description or self.name,
            args_schema={"type": "object", "properties": {}, **self.parameters},
            infer_schema=False,
        )


class ToolRegistry(Sequence[ToolDefinition]):
    """Definitions by name; give it as a unit's `tools`, or run its tools by hand."""

    def __init__(self, definitions: Sequence[ToolDefinition]) -> None:
        self._definitions = {definition.name: definition for definition in definitions}
        if len(self._definitions) != len(definitions):
            raise DefinitionError("two tools of the registry have the same name")
        self._steps = 0

    @property
    def chat_tools(self) -> list[dict[str, Any]]:
        return [definition.chat_tool for definition in self]

    async def run(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Run one tool. What it raises, and an unknown name, is a result that is not ok.

        Pauses are raised as they are.
        """
        self._steps += 1
        return Observation(self._steps, name, await self._result(name, arguments))

    async def _result(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        definition = self._definitions.get(name)
        if definition is None:
            return ToolResult(
                False, f"there is no tool {name!r}; the tools are: {', '.join(self._definitions)}"
            )
        try:
            value = await _called(definition.execute, dict(arguments))
        except GraphBubbleUp:
            raise
        except Exception as error:
            return ToolResult(False, f"{name} failed: {type(error).__name__}: {error}")
        return value if isinstance(value, ToolResult) else ToolResult(True, "", value)

    def __getitem__(self, index: Any) -> Any:
        return list(self._definitions.values())[index]

    def __len__(self) -> int:
        return len(self._definitions)

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self._definitions.values())

    def __repr__(self) -> str:
        return f"ToolRegistry({', '.join(self._definitions)})"


def handled(definition: Mapping[str, Any], handler: ToolHandler) -> ToolDefinition:
    """A raw tool definition, in OpenAI's form or bare, run by a handler for all of them.

    Raises DefinitionError for one without a name.
    """
    function = definition.get("function", definition)
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        raise DefinitionError(f"a tool definition without a name: {str(dict(definition))[:200]}")

    async def execute(arguments: dict[str, Any]) -> Any:
        return await _called(lambda given: handler(name, json.dumps(given, ensure_ascii=False)), arguments)

    parameters = function.get("parameters") or {}
    return ToolDefinition(name, function.get("description", ""), parameters, execute)


def shown(value: Any) -> Any:
    """A ToolResult as message content, or raised as ToolFailed when it is not ok; anything else as it is."""
    if not isinstance(value, ToolResult):
        return value
    if not value.ok:
        raise ToolFailed(value.text or "it failed and said nothing")
    content = "" if value.content is None else to_content(value.content, "tool")
    if isinstance(content, str):
        return value.text or NO_OUTPUT
    return [{"type": "text", "text": value.summary}, *content] if value.summary else content


async def _called(function: Callable[[dict[str, Any]], Any], arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(arguments)
    result = await asyncio.to_thread(noted(function), arguments)
    return await result if inspect.isawaitable(result) else result

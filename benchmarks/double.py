"""A chat model that costs next to nothing: it answers by rule, at once or after a pause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

Rule = Callable[[Sequence[BaseMessage]], AIMessage]
SPENT: Any = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}


class Double(BaseChatModel):
    """Answers each request with `rule(messages)`, `pause_s` seconds later.

    With `keeps`, `requests` holds every request as its messages and its tools.
    """

    rule: Rule
    pause_s: float | Callable[[Sequence[BaseMessage]], float] = 0.0
    keeps: bool = False
    requests: list[tuple[list[BaseMessage], list[dict[str, Any]]]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "double"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **options)

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("the double is asynchronous only")

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        if self.keeps:
            self.requests.append((list(messages), list(options.get("tools", ()))))
        pause_s = self.pause_s(messages) if callable(self.pause_s) else self.pause_s
        if pause_s:
            await asyncio.sleep(pause_s)
        return ChatResult(generations=[ChatGeneration(message=self.rule(messages))])


def said(text: str) -> AIMessage:
    """A reply of text only."""
    return AIMessage(text, usage_metadata=SPENT)


def called(number: int, *calls: tuple[str, dict[str, Any]]) -> AIMessage:
    """Reply `number`: calls of tools by name, whose ids are the same each time it is made."""
    asked: Any = [
        {"name": name, "args": args, "id": f"call-{number}-{place}", "type": "tool_call"}
        for place, (name, args) in enumerate(calls)
    ]
    return AIMessage("", tool_calls=asked, usage_metadata=SPENT)


class Counting(AsyncCallbackHandler):
    """Callbacks as a tracer has them: told of each model and tool call, counting them."""

    def __init__(self) -> None:
        self.models = 0
        self.tools = 0

    async def on_chat_model_start(self, *_: Any, **__: Any) -> None:
        self.models += 1

    async def on_tool_start(self, *_: Any, **__: Any) -> None:
        self.tools += 1

    @property
    def counts(self) -> tuple[int, int]:
        return self.models, self.tools

"""The scripted model: a strict double of a chat model that answers from a script."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

from .asker import AskedModel, RunManager, asker
from .jsonlike import as_json
from .script import Request, Script, Taken, Tape


class ScriptedModel(AskedModel):
    """A chat model that answers from a script and fails where run and script differ.

    `script` is a list of replies, a rule `Request -> reply`, or a mapping from unit id
    to either. A reply is `text(...)`, `call(...)`, a list of calls, `fail(...)`, an
    exception or an AIMessage. A request beyond the script raises ScriptError, replies
    left over make `check` raise it. `requests` holds what was sent, in order.

    A model object that is new to a thread goes on after the replies which its first
    request already holds, and a step that is repeated gets the same reply again.

    >>> from plait.testing import ScriptedModel, call, text
    >>> with ScriptedModel([call("add", a=1, b=2), text("It is 3.")]) as model:
    ...     [made["args"] for made in model.invoke("1 + 2?").tool_calls]
    ...     model.invoke("and?").text
    [{'a': 1, 'b': 2}]
    'It is 3.'
    >>> [request.user for request in model.requests]
    ['1 + 2?', 'and?']
    """

    chunk_size: int = Field(default=8, gt=0)
    """Characters in one piece of a stream."""
    delay_s: float | Callable[[Request], float] = 0.0
    """Seconds before an answer, fixed or by request."""

    _tape: Tape = PrivateAttr()

    def __init__(
        self,
        script: Script,
        *,
        chunk_size: int = 8,
        delay_s: float | Callable[[Request], float] = 0.0,
        **fields: Any,
    ) -> None:
        super().__init__(**{**fields, "chunk_size": chunk_size, "delay_s": delay_s})
        self._tape = Tape(script)

    @property
    def requests(self) -> list[Request]:
        """Every request so far, repeated and refused ones included."""
        return self._tape.requests

    def check(self) -> None:
        """Raises ScriptError if replies were left over or a request found none."""
        self._tape.check()

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.check()

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with these tools on every request, in OpenAI function form."""
        choice = {} if tool_choice is None else {"tool_choice": tool_choice}
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools], **choice, **kwargs)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _ask(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: RunManager,
        kwargs: dict[str, Any],
    ) -> tuple[Request, Taken, float]:
        """The request, its step of the script, and how many seconds the answer takes."""
        about = asker(run_manager, kwargs)
        schemas = tuple(kwargs.pop("tools", None) or ())
        request = Request(
            unit=about.get("plait_unit"),
            path=about.get("plait_path"),
            messages=tuple(messages),
            tools=tuple(_tool_name(schema) for schema in schemas),
            tool_schemas=schemas,
            kwargs=kwargs if stop is None else {**kwargs, "stop": stop},
        )
        taken = self._tape.take(request, about.get("langgraph_checkpoint_ns"))
        return request, taken, self.delay_s(request) if callable(self.delay_s) else self.delay_s

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request, taken, wait_s = self._ask(messages, stop, run_manager, kwargs)
        time.sleep(wait_s)
        return ChatResult(generations=[ChatGeneration(message=taken.message(request))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request, taken, wait_s = self._ask(messages, stop, run_manager, kwargs)
        await asyncio.sleep(wait_s)
        return ChatResult(generations=[ChatGeneration(message=taken.message(request))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        request, taken, wait_s = self._ask(messages, stop, run_manager, kwargs)
        time.sleep(wait_s)
        yield from pieces(taken.message(request), self.chunk_size)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        request, taken, wait_s = self._ask(messages, stop, run_manager, kwargs)
        await asyncio.sleep(wait_s)
        for piece in pieces(taken.message(request), self.chunk_size):
            yield piece


def pieces(message: AIMessage, size: int) -> Iterator[ChatGenerationChunk]:
    """A message as a provider streams it: text, then calls, then usage and finish reason.

    The pieces merge to the same message, but for invalid calls whose arguments
    langchain-core can complete: it does so in every stream.
    """
    if isinstance(message.content, str):
        for part in _cut(message.content, size):
            yield _piece(AIMessageChunk(content=part))
    else:
        yield _piece(AIMessageChunk(content=message.content))
    asked = [(each["name"], each["id"], as_json(each["args"])) for each in message.tool_calls]
    asked += [(each["name"] or "", each["id"], each["args"] or "") for each in message.invalid_tool_calls]
    for index, (name, call_id, args) in enumerate(asked):
        yield _call_piece(index, name=name, id=call_id, args="")
        for part in _cut(args, size):
            yield _call_piece(index, args=part)
    end = AIMessageChunk(
        content="",
        id=message.id,
        additional_kwargs=message.additional_kwargs,
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
        chunk_position="last",
    )
    yield _piece(end)


def _cut(whole: str, size: int) -> list[str]:
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def _call_piece(index: int, **part: str | None) -> ChatGenerationChunk:
    return _piece(AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(index=index, **part)]))


def _piece(chunk: AIMessageChunk) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=chunk)


def _tool_name(schema: dict[str, Any]) -> str:
    named: dict[str, Any] = schema.get("function", schema)
    return str(named.get("name") or named.get("type", ""))

"""Recording: a run's model and tool traffic, in one file that can be read and replayed."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from ..adapters.models import resolve_model
from ..core.codec import encode
from .around import around
from .asker import ASKER, AskedModel, RunManager
from .scripted import pieces
from .told import ToldModel, Tools
from .traffic import (
    Exchange,
    ModelCall,
    RecordingError,
    ToolCall,
    Writer,
    plain_error,
    plain_reply,
)


class Recording:
    """Writes what a workflow's models and tools are sent, and what they give, to the file at `path`.

    The file has one fact on each line, in an order that does not depend on what ran first, so that two
    recordings can be compared by `diff`. It holds messages, replies, tool arguments and results, and
    nothing of a client's settings: no key, no header. A file that is there is written over.

    >>> import tempfile
    >>> from plait import Workflow, WorkflowUnit
    >>> from plait.testing import Recording, Replay, ScriptedModel, call
    >>> def price(item: str) -> int:
    ...     "The price of an item."
    ...     return 3
    >>> def shop(tools, model):
    ...     return Workflow(WorkflowUnit("clerk", tools=tools), model=model)
    >>> path = tempfile.mkdtemp() + "/shop.jsonl"
    >>> real = ScriptedModel([call("price", item="pen"), call("resolve", value="3 euros")])
    >>> with Recording(path) as recording:
    ...     shop(recording.tools([price]), recording.model(real)).run_sync("What is a pen?").output
    '3 euros'
    >>> with Replay(path) as replay:
    ...     shop(replay.tools([price]), replay.model).run_sync("What is a pen?").output
    '3 euros'
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._done: list[Exchange] = []
        self._writer = Writer()
        self._lock = threading.Lock()
        self._refused: list[RecordingError] = []

    def model(self, inner: Any) -> BaseChatModel:
        """A chat model, or one named `"provider:model"`, whose calls are written down."""
        return RecordedModel(resolve_model(inner), self.add)

    def tools(self, tools: Iterable[Any]) -> list[BaseTool]:
        """Tools or functions, whose calls are written down. Raises RecordingError for other kinds."""
        return [around(tool, self._called) for tool in tools]

    def add(self, exchange: Exchange) -> None:
        """Take in one call that has ended, and write it down. For the framework."""
        with self._lock:
            mode = "a" if self._done else "w"
            self._done.append(exchange)
            with self.path.open(mode, encoding="utf-8") as opened:
                opened.writelines(f"{line}\n" for line in self._writer.lines(exchange))

    def close(self) -> None:
        """Bring the file in its order. Raises RecordingError when a tool gave what cannot be kept."""
        with self._lock:
            writer = Writer()
            ordered = (line for each in sorted(self._done, key=_place) for line in writer.lines(each))
            self.path.write_text("".join(f"{line}\n" for line in ordered), encoding="utf-8")
        if self._refused:
            raise self._refused[0]

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _called(self, name: str, args: dict[str, Any], run: Callable[[], Any]) -> Any:
        try:
            given = run()
        except Exception as error:
            self._failed(name, args, error)
            raise
        if inspect.isawaitable(given):
            return self._awaited(name, args, given)
        self._gave(name, args, given)
        return given

    async def _awaited(self, name: str, args: dict[str, Any], work: Awaitable[Any]) -> Any:
        try:
            given = await work
        except Exception as error:
            self._failed(name, args, error)
            raise
        self._gave(name, args, given)
        return given

    def _failed(self, name: str, args: dict[str, Any], error: Exception) -> None:
        self.add(ToolCall(name, args, raised=plain_error(error)))

    def _gave(self, name: str, args: dict[str, Any], given: Any) -> None:
        try:
            self.add(ToolCall(name, args, encode(given, f"what {name} gave")))
        except Exception as error:
            told = f"{error}; record the model only, or let the tool give plain values"
            self._refused.append(RecordingError(told))


def _place(exchange: Exchange) -> tuple[int, str]:
    """Model calls first, those of one path together and in their order."""
    return (0, exchange.path) if isinstance(exchange, ModelCall) else (1, exchange.key)


class RecordedModel(ToldModel):
    """A chat model that asks another one and has every call written down."""

    inner: BaseChatModel
    _add: Callable[[Exchange], None] = PrivateAttr()

    def __init__(self, inner: BaseChatModel, add: Callable[[Exchange], None]) -> None:
        fields: dict[str, Any] = {"inner": inner}
        super().__init__(**fields)
        self._add = add

    @property
    def _llm_type(self) -> str:
        return self.inner._llm_type

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return self.inner._get_ls_params(stop=stop, **kwargs)

    def _bound(self, tools: Tools, options: dict[str, Any]) -> dict[str, Any]:
        bound: Any = self.inner.bind_tools(tools, **options)
        return dict(bound.kwargs)

    def _asked(
        self,
        messages: Sequence[BaseMessage],
        stop: Sequence[str] | None,
        run_manager: RunManager,
        kwargs: dict[str, Any],
    ) -> ModelCall:
        whose = kwargs.get(ASKER)
        asked = self._told(messages, stop, run_manager, kwargs)
        if isinstance(self.inner, AskedModel):
            kwargs[ASKER] = whose
        return asked

    def _ended(self, asked: ModelCall, reply: BaseMessage) -> None:
        if isinstance(reply, AIMessage):
            self._add(replace(asked, reply=plain_reply(reply)))

    def _raised(self, asked: ModelCall, error: Exception) -> None:
        self._add(replace(asked, raised=plain_error(error)))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked = self._asked(messages, stop, run_manager, kwargs)
        try:
            result = self.inner._generate(messages, stop, run_manager, **kwargs)
        except Exception as error:
            self._raised(asked, error)
            raise
        self._ended(asked, result.generations[0].message)
        return result

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked = self._asked(messages, stop, run_manager, kwargs)
        try:
            result = await self.inner._agenerate(messages, stop, run_manager, **kwargs)
        except Exception as error:
            self._raised(asked, error)
            raise
        self._ended(asked, result.generations[0].message)
        return result

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        if not _streams(self.inner):
            yield from _cut(self._generate(messages, stop, run_manager, **kwargs))
            return
        asked, parts = self._asked(messages, stop, run_manager, kwargs), []
        try:
            for piece in self.inner._stream(messages, stop, run_manager, **kwargs):
                parts.append(piece.message)
                yield piece
        except Exception as error:
            self._raised(asked, error)
            raise
        self._ended(asked, _merged(parts))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        if not _streams(self.inner):
            for piece in _cut(await self._agenerate(messages, stop, run_manager, **kwargs)):
                yield piece
            return
        asked, parts = self._asked(messages, stop, run_manager, kwargs), []
        try:
            async for piece in self.inner._astream(messages, stop, run_manager, **kwargs):
                parts.append(piece.message)
                yield piece
        except Exception as error:
            self._raised(asked, error)
            raise
        self._ended(asked, _merged(parts))


def _streams(model: BaseChatModel) -> bool:
    kind = type(model)
    return kind._astream is not BaseChatModel._astream or kind._stream is not BaseChatModel._stream


def _merged(parts: Sequence[BaseMessage]) -> BaseMessage:
    """The reply that a stream comes to; a blank one when it had no piece."""
    return reduce(add, parts) if parts else AIMessageChunk(content="")


def _cut(result: ChatResult) -> Iterator[ChatGenerationChunk]:
    message = result.generations[0].message
    if isinstance(message, AIMessage):
        yield from pieces(message, len(str(message.text)) or 1)

"""Counts what a foreign runtime spends, through LangChain's callbacks, and stops it at a limit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import Lock
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from ..core.errors import RunError
from ..core.usage import Breach, Usage
from .frame import Frame
from .model import usage_of


class Spending(BaseCallbackHandler):
    """A callback handler for one execution; `usage` is what the models and tools below it cost.

    Raises RunError with reason `limit` before the model or tool call that a limit forbids, and
    keeps it as `breach`, since a foreign runtime may take it for a failed call and go on.
    """

    raise_error = True
    run_inline = True

    def __init__(self, frame: Frame, before: Usage | None = None) -> None:
        self.usage = before or Usage()
        self.breach: Breach | None = None
        self._frame = frame
        self._sent: dict[UUID, Sequence[BaseMessage]] = {}
        self._lock = Lock()
        if before is not None:
            frame.meter.report(frame.meter_key, before)

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **_: Any
    ) -> None:
        self._allowed(self._frame.meter.breach())
        self._sent[run_id] = messages[0] if messages else ()

    def on_llm_start(self, serialized: Any, prompts: list[str], *, run_id: UUID, **_: Any) -> None:
        self._allowed(self._frame.meter.breach())
        self._sent[run_id] = [HumanMessage(prompt) for prompt in prompts]

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        sent = self._sent.pop(run_id, ())
        for generations in response.generations:
            for generation in generations[:1]:
                message = generation.message if isinstance(generation, ChatGeneration) else None
                reply = message if isinstance(message, AIMessage) else AIMessage(generation.text)
                self._add(usage_of(reply, sent))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._sent.pop(run_id, None)
        self._add(Usage(model_calls=1))

    def on_tool_start(self, serialized: Any, input_str: str, **_: Any) -> None:
        meter = self._frame.meter
        self._allowed(meter.tool_breach() if meter.tool_calls_left() == 0 else None)
        self._add(Usage(tool_calls=1))

    def _allowed(self, breach: Breach | None) -> None:
        self.breach = self.breach or breach
        if self.breach is not None:
            raise RunError(str(self.breach), path=self._frame.snapshot.path, reason="limit")

    def _add(self, usage: Usage) -> None:
        with self._lock:
            self.usage = self.usage + usage
            self._frame.meter.report(self._frame.meter_key, self.usage)


def with_spending(callbacks: Any, spending: Spending) -> Any:
    """The callbacks of a config with `spending` added, inherited by everything below."""
    if callbacks is None:
        return [spending]
    if isinstance(callbacks, list):
        return [*callbacks, spending]
    added = callbacks.copy()
    added.add_handler(spending, inherit=True)
    return added


def spent_by(messages: Sequence[BaseMessage], given: Collection[str | None]) -> Usage:
    """What a conversation has cost since it began with the messages whose ids are `given`."""
    used = Usage()
    for place, message in enumerate(messages):
        if message.id in given:
            continue
        if isinstance(message, AIMessage):
            used += usage_of(message, messages[:place])
        elif message.type == "tool":
            used += Usage(tool_calls=1)
    return used

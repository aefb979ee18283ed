"""Counts what a foreign runtime spends, through LangChain's callbacks, and stops it at a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from ..core.errors import RunError
from ..core.usage import Usage
from .frame import Frame
from .model import usage_of


class Spending(BaseCallbackHandler):
    """A callback handler for one execution; `usage` is what the models and tools below it cost.

    Raises RunError with reason `limit` before the model call that a limit forbids.
    """

    raise_error = True
    run_inline = True

    def __init__(self, frame: Frame) -> None:
        self.usage = Usage()
        self._frame = frame
        self._sent: dict[UUID, Sequence[BaseMessage]] = {}

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **_: Any
    ) -> None:
        breach = self._frame.meter.breach()
        if breach is not None:
            raise RunError(str(breach), path=self._frame.snapshot.path, reason="limit")
        self._sent[run_id] = messages[0] if messages else ()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        sent = self._sent.pop(run_id, ())
        for generations in response.generations:
            for generation in generations[:1]:
                message = generation.message if isinstance(generation, ChatGeneration) else None
                if isinstance(message, AIMessage):
                    self._add(usage_of(message, sent))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._sent.pop(run_id, None)
        self._add(Usage(model_calls=1))

    def on_tool_start(self, serialized: Any, input_str: str, **_: Any) -> None:
        left = self._frame.meter.tool_calls_left()
        if left == 0:
            breach = self._frame.meter.tool_breach()
            raise RunError(str(breach), path=self._frame.snapshot.path, reason="limit")
        self._add(Usage(tool_calls=1))

    def _add(self, usage: Usage) -> None:
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

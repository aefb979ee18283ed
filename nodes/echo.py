"""LangGraph's `messages` stream carries what a model writes as text, and so what `resolve` is given here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableConfig
from langgraph.pregel._messages import StreamMessagesHandler


def handlers_of(config: RunnableConfig) -> Sequence[Any]:
    """The callback handlers of a call."""
    callbacks = config.get("callbacks")
    found: Sequence[Any] = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", ())
    return found


class Echo:
    """Adds text to the reply that LangGraph's handlers stream; tracers never see it.

    `tags` are the model's own: one that is tagged `nostream` is not streamed here either.
    """

    def __init__(self, config: RunnableConfig, tags: Sequence[str]) -> None:
        self._run_id = uuid4()
        self._handlers = [h for h in handlers_of(config) if isinstance(h, StreamMessagesHandler)]
        for handler in self._handlers:
            about, said = dict(config.get("metadata") or {}), [*(config.get("tags") or ()), *tags]
            handler.on_chat_model_start({}, [[]], run_id=self._run_id, metadata=about, tags=said)

    def add(self, text: str, message_id: str | None) -> None:
        """Stream `text` as a piece of the message `message_id`."""
        for handler in self._handlers:
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=text, id=message_id))
            handler.on_llm_new_token(text, chunk=chunk, run_id=self._run_id)

    def end(self) -> None:
        """Forget the reply: its own handler has told its end."""
        for handler in self._handlers:
            handler.metadata.pop(self._run_id, None)

"""What recorded and replayed models share: they tell a request as a recording does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from .asker import AskedModel, RunManager, asker
from .traffic import ModelCall, digests, seen_of_message

_BOUND = "plait_bound"
"""The argument that carries which tools were bound, whatever form a provider gives them."""

Tools = Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool]


class ToldModel(AskedModel):
    """A model to inherit from; `_told` is the request as a recording tells it."""

    def bind_tools(
        self, tools: Tools, *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with these tools on every request."""
        choice = {} if tool_choice is None else {"tool_choice": tool_choice}
        about = {"tools": dict(digests(tools)), **choice}
        return self.bind(**self._bound(tools, {**choice, **kwargs}), **{_BOUND: about})

    def _bound(self, tools: Tools, options: dict[str, Any]) -> dict[str, Any]:
        """What else is passed on with each request."""
        return {}

    def _told(
        self,
        messages: Sequence[BaseMessage],
        stop: Sequence[str] | None,
        run_manager: RunManager,
        kwargs: dict[str, Any],
    ) -> ModelCall:
        """The request by whoever asks; takes what only tells about it out of `kwargs`."""
        about = {**kwargs.pop(_BOUND, {}), **({"stop": list(stop)} if stop else {})}
        by = asker(run_manager, kwargs)
        path = by.get("plait_path") or by.get("langgraph_node") or ""
        return ModelCall(str(path), about, [seen_of_message(message) for message in messages])

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        kwargs.pop(_BOUND, None)
        return super()._get_invocation_params(stop=stop, **kwargs)

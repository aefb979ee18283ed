"""A chat model that knows which unit asks it, also while it streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig, ensure_config
from pydantic import Field

ASKER = "plait_asker"
"""The argument that carries the run's metadata to where langchain-core drops it."""

RunManager = AsyncCallbackManagerForLLMRun | CallbackManagerForLLMRun | None


class AskedModel(BaseChatModel):
    """A model to inherit from; `asker` tells in `_generate` and `_stream` whose request it is."""

    cache: BaseCache | bool | None = Field(default=False, exclude=True)

    # langchain-core hands the run's metadata to `_generate` but not to `_stream`, so each
    # way in passes it on by itself.

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        return super().invoke(input, config, stop=stop, **self._with_asker(config, kwargs))

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        return await super().ainvoke(input, config, stop=stop, **self._with_asker(config, kwargs))

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        return super().stream(input, config, stop=stop, **self._with_asker(config, kwargs))

    def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        return super().astream(input, config, stop=stop, **self._with_asker(config, kwargs))

    def _with_asker(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> dict[str, Any]:
        whole = ensure_config(config)
        inherited = getattr(whole.get("callbacks"), "metadata", None) or {}
        return {**kwargs, ASKER: {**inherited, **whole["metadata"], **(self.metadata or {})}}

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        kwargs.pop(ASKER, None)
        return super()._get_invocation_params(stop=stop, **kwargs)


def asker(run_manager: RunManager, kwargs: dict[str, Any]) -> Mapping[str, Any]:
    """The metadata of whoever asks, such as `plait_unit`; taken out of `kwargs`."""
    given = kwargs.pop(ASKER, None)
    return run_manager.metadata if run_manager else given or ensure_config()["metadata"]

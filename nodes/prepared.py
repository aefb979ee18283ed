"""A tool made ready for a unit's calls: its result is shown as Plait shows it, and what LangChain would
work out again at each call is worked out once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, get_type_hints

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import FILTERED_ARGS, BaseTool, StructuredTool
from langchain_core.tools.base import _get_runnable_config_param
from langchain_core.utils.pydantic import get_fields
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from .content import to_content
from .lingering import noted, returned
from .toolforms import shown


def prepared(tool: BaseTool) -> BaseTool:
    """The same tool, whose function's result is made message content before LangChain prints it, and whose
    sync function is noted while it runs."""
    if not isinstance(tool, StructuredTool):
        copied = tool.model_copy()
        vars(copied)["_run"] = like(noted(tool._run), tool._run)
        return copied
    paired = tool.response_format == "content_and_artifact"
    changed = {
        "func": _shown(tool.func, tool.name, paired) if tool.func else None,
        "coroutine": _shown_async(tool.coroutine, tool.name, paired) if tool.coroutine else None,
    }
    if type(tool) is not StructuredTool:
        return tool.model_copy(update=changed)
    held = {name: getattr(tool, name) for name in StructuredTool.model_fields}
    made = _PreparedTool.model_construct(tool.model_fields_set, **{**held, **changed})
    if made.coroutine is not None and _takes_only_arguments(made.coroutine):
        vars(made)["_arun"] = _bare(made.coroutine)
    return made


class _PreparedTool(StructuredTool):
    """Checks a call's arguments without its runtime, whose messages LangChain would write out each time, and
    reads the annotations of its schema once."""

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """The arguments that callbacks are not shown."""
        known = {**get_fields(self.args_schema)} if isinstance(self.args_schema, type) else {}
        names = dict.fromkeys((*known, *self._injected_args_keys, *FILTERED_ARGS))
        return frozenset(names.keys() - super()._filter_injected_args(names).keys())

    def _filter_injected_args(self, tool_input: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in tool_input.items() if name not in self._hidden}

    def _parse_input(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> str | dict[str, Any]:
        if isinstance(tool_input, str):
            return super()._parse_input(tool_input, tool_call_id)
        runtimes = {name: value for name, value in tool_input.items() if isinstance(value, ToolRuntime)}
        parsed = super()._parse_input({**tool_input, **dict.fromkeys(runtimes, _EMPTY)}, tool_call_id)
        assert isinstance(parsed, dict)
        return {**parsed, **{name: value for name, value in runtimes.items() if name in parsed}}

    async def _arun(self, *args: Any, config: RunnableConfig, run_manager: Any = None, **kwargs: Any) -> Any:
        return await super()._arun(*args, config=config, run_manager=run_manager, **kwargs)


def _takes_only_arguments(coroutine: Callable[..., Any]) -> bool:
    """Whether a tool's coroutine wants nothing of LangChain beside a call's arguments."""
    with suppress(TypeError, ValueError):
        takes_callbacks = "callbacks" in inspect.signature(coroutine).parameters
        return not takes_callbacks and _get_runnable_config_param(coroutine) is None
    return False


def _bare(coroutine: Callable[..., Any]) -> Callable[..., Any]:
    """`coroutine` in place of a tool's `_arun`, such that LangChain finds nothing to add to its arguments."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        return await coroutine(*args, **kwargs)

    call.__annotations__ = {}
    call.__signature__ = inspect.signature(call)  # type: ignore[attr-defined]
    return call


# LangChain reads both at each call, and evaluates annotations that are text
_PreparedTool._arun.__annotations__ = get_type_hints(_PreparedTool._arun)
_PreparedTool._arun.__signature__ = inspect.signature(_PreparedTool._arun)  # type: ignore[attr-defined]


def _write_nothing(_: Any) -> None:
    """Stands where a stream writer is expected."""


_EMPTY: ToolRuntime[Any, Any] = ToolRuntime(
    state={}, context=None, config={}, stream_writer=_write_nothing, tool_call_id=None, store=None
)


def read_hints(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The annotations of a function, those written as text read; None where they cannot be."""
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return None


def _own_hints(function: Callable[..., Any]) -> dict[str, Any]:
    hints = read_hints(function)
    return getattr(function, "__annotations__", {}) if hints is None else hints


def _shown(function: Callable[..., Any], name: str, paired: bool) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return _showable(function(*args, **kwargs), name, paired)

    return like(noted(call), function)


def _shown_async(function: Callable[..., Any], name: str, paired: bool) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return _showable(await function(*args, **kwargs), name, paired)
        finally:
            returned()

    return like(call, function)


def like(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """`call` with the signature of `function`, which LangChain reads to fill config and callbacks."""
    call.__wrapped__ = function  # type: ignore[attr-defined]
    with suppress(TypeError, ValueError):  # worked out here, since LangChain asks for both at each call
        call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    call.__annotations__ = _own_hints(function)
    call.__name__ = getattr(function, "__name__", "tool")
    return call


def _showable(value: Any, name: str, paired: bool) -> Any:
    value = shown(value)
    if is_control(value):
        return value
    if paired and isinstance(value, tuple) and len(value) == 2:
        return to_content(value[0], name), value[1]
    return to_content(value, name)


def is_control(value: Any) -> bool:
    """Whether a tool returned messages or Commands, which go through as they are."""
    items = value if isinstance(value, list) and value else [value]
    return all(isinstance(item, Command | ToolMessage) for item in items)

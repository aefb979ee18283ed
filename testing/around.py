"""A tool with something around its function; to a model and to LangGraph it is the same tool."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from ..nodes.tools import as_tool, injection_of
from .jsonlike import as_json
from .traffic import RecordingError

Plain = dict[str, Any]
Called = Callable[[str, Plain, Callable[[], Any]], Any]


def around(given: Any, called: Called) -> BaseTool:
    """The tool whose calls are `called(name, args, run)`; `run()` is the call itself, awaitable when async.

    `args` are the model's, as JSON, without what is injected. Raises RecordingError for a tool that is
    no function.
    """
    tool = as_tool(given)
    if not isinstance(tool, StructuredTool):
        told = f"{tool.name} is a {type(tool).__name__}; only tools made from functions can be recorded"
        raise RecordingError(told)
    hidden = {*injection_of(tool).names, "config", "callbacks", "run_manager"}

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **named: Any) -> Any:
                given = called(tool.name, _plain(named, hidden), lambda: function(*args, **named))
                return await given if inspect.isawaitable(given) else given

            return run_async

        @functools.wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            return called(tool.name, _plain(named, hidden), lambda: function(*args, **named))

        return run

    functions = {"func": tool.func, "coroutine": tool.coroutine}
    return tool.model_copy(update={name: made and wrapped(made) for name, made in functions.items()})


def _plain(named: Plain, hidden: set[str]) -> Plain:
    shown: Plain = json.loads(as_json({name: value for name, value in named.items() if name not in hidden}))
    return shown

"""`tool`: what a tool says of its effect, so that a crash costs nothing and nobody is surprised."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, overload

from langchain_core.tools import BaseTool

from ..core.errors import DefinitionError

Effect = Literal["read", "idempotent", "probe", "flow", "unsafe"]
"""What running a tool twice does: nothing (`read`), the same as once (`idempotent`), something that the
tool can be asked about (`probe`), something that goes on by itself (`flow`), or anything (`unsafe`)."""

Probe = Callable[..., Any]
"""Called with the arguments of a call that was under way in a crash: what it gave, or None if it had not
happened. Sync or async."""

Approval = bool | str | Callable[[Mapping[str, Any]], bool | str]
"""Whether a person has to approve a call: always, with a description of why, or as a function of the
call's arguments says."""

EFFECT, PROBE, APPROVAL = "plait_effect", "plait_probe", "plait_approval"


Declare = Callable[[Callable[..., Any]], BaseTool]


@overload
def tool(
    given: None = None,
    /,
    *,
    effect: Effect | None = ...,
    probe: Probe | None = ...,
    approval: Approval = ...,
    **options: Any,
) -> Declare: ...
@overload
def tool(
    given: Callable[..., Any] | BaseTool,
    /,
    *,
    effect: Effect | None = ...,
    probe: Probe | None = ...,
    approval: Approval = ...,
    **options: Any,
) -> BaseTool: ...
def tool(
    given: Any = None,
    /,
    *,
    effect: Effect | None = None,
    probe: Probe | None = None,
    approval: Approval = False,
    **options: Any,
) -> Any:
    """Declare a tool's effect: a decorator for a function, or a call around a tool that is there.

    >>> @tool(effect="read")
    ... def stock(item: str) -> int:
    ...     "How many of an item are there."
    ...     return 3
    >>> stock.metadata
    {'plait_effect': 'read'}

    `read` and `idempotent` tools run again after a crash. `probe` needs a function that takes the same
    arguments and tells what the call gave, or None when it had not happened. Everything else is `unsafe`:
    a call that was under way in a crash is never run again without asking. With `approval` (yes, why, or a
    function of the arguments that says so) the run pauses before each call until a person has decided on
    it: `approve()`, `edit(args)`, `reject(why)`, `respond(text)`. Other options go to LangChain's `tool`.
    Raises DefinitionError for an effect that there is not, and a probe that takes other arguments.
    """
    effect = effect or ("probe" if probe is not None else None)
    if effect not in (None, *get_args(Effect)):
        raise DefinitionError(f"effect={effect!r} is unknown; there are: {', '.join(get_args(Effect))}")
    if (effect == "probe") != (probe is not None):
        raise DefinitionError("effect='probe' and probe=function go together")

    def declare(function: Any) -> BaseTool:
        from .tools import as_tool

        made = function if isinstance(function, BaseTool) else _made(function, options, as_tool)
        if probe is not None:
            _check_probe(made, probe)
        told = {EFFECT: effect, PROBE: probe, APPROVAL: approval or None}
        known = {name: value for name, value in told.items() if value is not None}
        declared = made.model_copy(update={"metadata": {**(made.metadata or {}), **known}})
        if not approval:
            return declared
        from .gates import gated

        return gated(declared)

    return declare if given is None else declare(given)


def _check_probe(made: BaseTool, probe: Probe) -> None:
    """Raise DefinitionError for a probe that does not take the arguments of the tool's calls."""
    schema: Any = made.tool_call_schema
    named = schema.get("properties", {}) if isinstance(schema, dict) else schema.model_fields
    try:
        inspect.signature(probe).bind(**dict.fromkeys(named))
    except TypeError as error:
        told = f"the probe of {made.name} must take its arguments ({', '.join(named) or 'none'}): {error}"
        raise DefinitionError(told) from error
    except ValueError:  # a builtin without a signature
        return


def _made(function: Any, options: dict[str, Any], as_tool: Callable[[Any], BaseTool]) -> BaseTool:
    if not options:
        return as_tool(function)
    from langchain_core.tools import tool as langchain_tool

    made = langchain_tool(**options)(function)
    assert isinstance(made, BaseTool)
    return made


def effect_of(made: BaseTool, default: Effect = "unsafe") -> Effect:
    """What a tool declares; MCP's `readOnlyHint` and `idempotentHint` count."""
    metadata = made.metadata or {}
    if EFFECT in metadata:
        declared: Effect = metadata[EFFECT]
        return declared
    if metadata.get("readOnlyHint"):
        return "read"
    return "idempotent" if metadata.get("idempotentHint") else default

"""Tools of a unit: plain functions and LangChain tools, by the names the model sees."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args, get_origin, get_type_hints

from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import InjectedState, InjectedStore
from langgraph.prebuilt import ToolRuntime as LangGraphToolRuntime
from pydantic_core.core_schema import (
    CoreSchema,
    is_instance_schema,
    plain_serializer_function_ser_schema,
)
from typing_extensions import TypeVar

from ..core.bus import BusMessage
from ..core.delta import Delta
from ..core.errors import DefinitionError, Fault
from ..core.outcome import Reason
from ..core.snapshot import Snapshot
from ..core.state import SharedState
from .asking import Asker
from .frame import Frame
from .prepared import prepared, read_hints
from .toolforms import ToolDefinition
from .wire import wire_names

ContextT = TypeVar("ContextT", default=Any)
StateT = TypeVar("StateT", default=Any)

RESOLVE = "resolve"
DELEGATE = "delegate_to_"
"""How the names of delegation tools begin."""
HOLDS_RESOLVE = "plait_holds_resolve"
RESERVED_NAMES = (RESOLVE,)


def _first() -> int:
    return 1


@dataclass
class CallScope:
    """One call from the framework's side: where it stands, and what comes of it besides a result.

    `frame` and `runtime` are the calling unit's, `count` finds how many calls of this tool the unit has
    made with this one. A tool of the framework leaves here the deltas of flows it ran, and a
    `failure` (reason and message) that ends the unit.
    """

    frame: Frame | None = None
    runtime: Any = None
    count: Callable[[], int] = _first
    asker: Asker = field(default_factory=Asker)
    published: list[BusMessage] = field(default_factory=list)
    done: list[Delta] = field(default_factory=list)
    failure: tuple[Reason, str] | None = None

    @property
    def number(self) -> int:
        """The how-manieth call of its tool this one is, from 1."""
        return self.count()


@dataclass
class ToolRuntime(LangGraphToolRuntime[ContextT, StateT]):
    """LangGraph's `ToolRuntime` with what Plait adds; injected, never shown to the model.

    `shared` is the writable SharedState, `snapshot` what the unit sees, `context` the user's own
    run context, `state` a mapping with the unit's `messages` and the shared keys.
    """

    shared: SharedState = field(default_factory=lambda: SharedState({}))
    snapshot: Snapshot = field(default_factory=Snapshot)
    call: CallScope = field(default_factory=lambda: CallScope())

    def __class_getitem__(cls, _: Any) -> type[ToolRuntime[Any, Any]]:
        """The class itself: its parameters speak to type checkers, not to argument schemas."""
        return cls

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Argument schemas that name this class accept its instances and never look into them."""
        kept = plain_serializer_function_ser_schema(lambda runtime: runtime)
        return is_instance_schema(LangGraphToolRuntime, serialization=kept)

    def ask(self, question: Any) -> Any:
        """Pause the run with `question`; returns the answer once the thread is resumed with it.

        The tool starts again from its first line then, so ask before any effect.
        """
        return self.call.asker.ask(question)

    def publish(self, message: BusMessage) -> None:
        """Put `message` on the bus when this call is recorded."""
        number, place = len(self.call.published), self.snapshot
        base = f"{place.thread_id}:{place.turn}:{place.path}:{self.tool_call_id}:{number}"
        made = replace(
            message,
            id=message.id or base,
            path=message.path or place.path,
            timestamp=message.timestamp or time.time(),
        )
        self.call.published.append(made)


@dataclass(frozen=True)
class Injection:
    """Which parameters of a tool the framework fills, by what they get."""

    runtime: tuple[str, ...] = ()
    state: Mapping[str, str | None] = field(default_factory=dict)
    store: tuple[str, ...] = ()
    call_id: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset((*self.runtime, *self.state, *self.store, *self.call_id, *self.others))

    @property
    def reads_state(self) -> bool:
        """Whether the tool may look at the unit's state."""
        return bool(self.runtime or self.state)


@dataclass(frozen=True)
class UnitTool:
    """One tool: its own name, the name on the wire, and how it is called."""

    name: str
    wire: str
    tool: BaseTool
    injection: Injection

    @property
    def holds_resolve(self) -> bool:
        """Whether a `resolve` beside it is not accepted, since its result is still to be read."""
        return bool((self.tool.metadata or {}).get(HOLDS_RESOLVE))

    @property
    def is_sync(self) -> bool:
        """Whether its body runs in a thread, which nothing can stop."""
        return getattr(self.tool, "coroutine", None) is None

    @property
    def takes_call(self) -> bool:
        """Whether it needs the whole tool call instead of its arguments alone."""
        return (
            isinstance(self.tool, StructuredTool)
            or bool(self.injection.call_id)
            or (self.tool.response_format == "content_and_artifact")
        )


@dataclass(frozen=True)
class Toolset:
    """The tools of one unit and what the model is told of them; the order never changes."""

    by_wire: Mapping[str, UnitTool]
    schemas: tuple[dict[str, Any], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(schema["function"]["name"] for schema in self.schemas)

    @cached_property
    def holding(self) -> tuple[str, ...]:
        """The names on the wire of the tools that hold `resolve` back."""
        return tuple(tool.wire for tool in self.by_wire.values() if tool.holds_resolve)

    @cached_property
    def given_names(self) -> dict[str, str]:
        """The tools' own names by their names on the wire."""
        return {wire: entry.name for wire, entry in self.by_wire.items()}


def toolset(unit_id: str, tools: Sequence[Any], resolve: dict[str, Any] | None) -> Toolset:
    """Prepare `tools`; `resolve` is the schema of the finishing tool, None when not offered.

    Raises DefinitionError for what is no tool, for a name twice, and for a reserved name.
    """
    made = [as_tool(tool, unit_id) for tool in tools]
    names = [tool.name for tool in made]
    taken = [
        Fault(unit_id, f"tool {name!r} has a name that the framework uses")
        for name in names
        if name in RESERVED_NAMES
    ]
    twice = [
        Fault(unit_id, f"two tools are named {name!r}")
        for name in sorted({n for n in names if names.count(n) > 1})
    ]
    if taken or twice:
        raise DefinitionError(taken + twice)
    wires = wire_names([*names, RESOLVE])
    entries = {wires[t.name]: UnitTool(t.name, wires[t.name], prepared(t), injection_of(t)) for t in made}
    schemas = [_schema(entry) for entry in entries.values()]
    return Toolset(entries, tuple(schemas if resolve is None else [*schemas, resolve]))


def resolve_schema(parameters: dict[str, Any], description: str = "") -> dict[str, Any]:
    """The finishing tool as the model sees it."""
    told = description or "Give the final result and end. Call it once, when everything else is done."
    return {"type": "function", "function": {"name": RESOLVE, "description": told, "parameters": parameters}}


def as_tool(tool: Any, unit_id: str = "") -> BaseTool:
    """A LangChain tool as it is, a function or coroutine function as a tool of its name."""
    if isinstance(tool, BaseTool):
        return tool
    if isinstance(tool, ToolDefinition):
        return tool.as_tool()
    if isinstance(tool, Mapping):
        raise DefinitionError([Fault(unit_id, "a raw tool definition needs the unit's tool_handler=")])
    if not callable(tool) or isinstance(tool, type):
        raise DefinitionError([Fault(unit_id, f"{tool!r} is no tool; give a function or a LangChain tool")])
    name = getattr(tool, "__name__", type(tool).__name__)
    described = inspect.getdoc(tool) or name
    function = tool.__call__ if inspect.isfunction(type(tool).__call__) else tool  # an object of a class
    if inspect.iscoroutinefunction(function):
        return StructuredTool.from_function(coroutine=function, name=name, description=described)
    return StructuredTool.from_function(func=function, name=name, description=described)


def injection_of(tool: BaseTool) -> Injection:
    """Read the injection markers of LangGraph and LangChain from a tool's annotations."""
    hints = _hints(tool)
    states = {name: marker.field for name, hint in hints.items() if (marker := _marker(hint, InjectedState))}
    return Injection(
        runtime=tuple(name for name, hint in hints.items() if _is_runtime(hint)),
        state=states,
        store=tuple(name for name, hint in hints.items() if _marker(hint, InjectedStore)),
        call_id=tuple(name for name, hint in hints.items() if _marker(hint, InjectedToolCallId)),
        others=tuple(name for name, hint in hints.items() if _marker(hint, InjectedToolArg)),
    )


def _hints(tool: BaseTool) -> dict[str, Any]:
    function = getattr(tool, "coroutine", None) or getattr(tool, "func", None) or tool._run
    own = read_hints(function) or {}
    schema = tool.args_schema
    declared = get_type_hints(schema, include_extras=True) if isinstance(schema, type) else {}
    return {name: hint for name, hint in {**own, **declared}.items() if name != "return"}


def _is_runtime(hint: Any) -> bool:
    bare = get_origin(hint) or hint
    return isinstance(bare, type) and issubclass(bare, LangGraphToolRuntime)


def _marker(hint: Any, kind: type) -> Any:
    """The marker of `kind` in an Annotated hint: an instance, or one made of its class."""
    for extra in get_args(hint)[1:] if hasattr(hint, "__metadata__") else ():
        if isinstance(extra, kind):
            return extra
        if isinstance(extra, type) and issubclass(extra, kind):
            return extra()
    return None


def _schema(entry: UnitTool) -> dict[str, Any]:
    schema = convert_to_openai_tool(entry.tool)
    function = schema["function"]
    parameters = {"type": "object", "properties": {}, **function.get("parameters", {})}
    return {"type": "function", "function": {**function, "name": entry.wire, "parameters": parameters}}

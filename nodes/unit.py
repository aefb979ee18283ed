"""WorkflowUnit: a role, its tools, and how it may end. A value; nothing here runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args, overload

from langgraph.types import RetryPolicy
from typing_extensions import TypeForm, TypeVar

from ..core.conditions import Predicate
from ..core.errors import DefinitionError, Fault
from ..core.part import Part
from ..core.paths import id_fault
from ..core.roles import AdapterFn
from ..core.snapshot import Snapshot
from ..core.usage import Limits
from .inbox import Mode
from .schema import output_schema
from .termination import Policy
from .toolforms import ToolHandler, handled
from .usercode import async_fault

T = TypeVar("T", covariant=True, default=str)
Other = TypeVar("Other")

Prompt = str | Callable[[Snapshot], str]
Tools = Sequence[Any] | Callable[[Snapshot], Sequence[Any]]
InputAdapter = Callable[[Snapshot], Any]
"""Makes the unit's first message from the Snapshot: text, content blocks, or messages."""

OutputAdapter = str | Callable[[Any], Mapping[str, Any]]
"""Turns the typed output into state writes: a key, or a function that returns key and value."""

Memory = Literal["none", "run", "thread"]
ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]


@dataclass(frozen=True, eq=True)
class WorkflowUnit(Part[object, T]):
    """A typed ReAct loop that ends when its `resolve` tool fires with an `output`.

    `prompt` is sent as it is, character for character. Budgets count within one run of the unit:
    `resolve_attempts` invalid `resolve` calls, `reminders` for replies without a call,
    `reply_attempts` cut or unreadable replies in a row, `max_rounds` model replies in all.
    `output_cap` is the length in characters that a tool result may have in the transcript.
    `writes` and `reads` say which shared keys its tools and adapters use, so that it can be checked
    before the run that nobody writes one at the same time and that somebody has written it before.
    `strict_alternation` sends adjacent user messages as one, for servers that refuse them.
    `steering` is how many messages that wait for the unit it is given before one model call.

    >>> unit = WorkflowUnit("classify", prompt="Decide.", output=str)
    >>> unit.with_(id="again").id
    'again'
    """

    id: str
    prompt: Prompt = ""
    output: TypeForm[T] = str  # type: ignore[assignment]
    tools: Tools = ()
    tool_handler: ToolHandler | None = None
    input_adapter: InputAdapter | None = None
    output_adapter: OutputAdapter | None = None
    termination: Policy | None = None
    memory: Memory = "run"
    sees: Literal["predecessors", "all-steps"] = "predecessors"
    conversation: bool = False
    answer: Literal["resolve", "text"] = "resolve"
    model: Any = None
    adapter: AdapterFn | None = None
    thinking_level: ThinkingLevel | None = None
    limits: Limits | None = None
    retry: RetryPolicy | None = None
    when: Predicate | None = None
    tool_execution: Literal["parallel", "sequential"] = "parallel"
    tool_choice: str | None = None
    max_rounds: int = 25
    resolve_attempts: int = 3
    reminders: int = 2
    reply_attempts: int = 3
    output_cap: int = 20_000
    accept_json_text: bool = False
    lift_text_calls: bool = False
    strict_alternation: bool = False
    steering: Mode = "one-at-a-time"
    force_last_round: bool = False
    salvage: Any = None
    description: str = ""
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("writes", "reads"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        if not callable(self.tools):
            object.__setattr__(self, "tools", _prepared(self.tools, self.tool_handler))
        if faults := tuple(_faults(self)):
            raise DefinitionError(faults)

    def __hash__(self) -> int:
        return hash((self.id, self.prompt if isinstance(self.prompt, str) else ""))

    @overload
    def with_(self, *, output: TypeForm[Other], **changes: Any) -> WorkflowUnit[Other]: ...
    @overload
    def with_(self, **changes: Any) -> WorkflowUnit[T]: ...
    def with_(self, **changes: Any) -> WorkflowUnit[Any]:
        """A variant of this unit. Raises DefinitionError for a field that does not exist."""
        known = {f.name for f in fields(self)}
        if unknown := sorted(set(changes) - known):
            raise DefinitionError(
                [Fault(self.id, f"a unit has no {', '.join(unknown)}; it has {', '.join(sorted(known))}")]
            )
        return replace(self, **changes)

    def __repr__(self) -> str:
        shown = "" if self.output is str else f", output={getattr(self.output, '__name__', self.output)}"
        return f"WorkflowUnit({self.id!r}{shown})"


def _prepared(tools: Sequence[Any], handler: ToolHandler | None) -> tuple[Any, ...]:
    """The tools as a tuple, raw definitions bound to their handler."""
    if handler is None:
        return tuple(tools)
    return tuple(handled(tool, handler) if isinstance(tool, Mapping) else tool for tool in tools)


def _faults(unit: WorkflowUnit[Any]) -> list[Fault]:
    found = [id_fault(unit.id), _output_fault(unit.output), _prompt_fault(unit.prompt)]
    if unit.answer == "text" and unit.output is not str:
        found.append('answer="text" needs output=str')
    for name in ("max_rounds", "resolve_attempts", "reply_attempts"):
        if getattr(unit, name) < 1:
            found.append(f"{name} must be at least 1, got {getattr(unit, name)!r}")
    if unit.reminders < 0:
        found.append(f"reminders must not be negative, got {unit.reminders!r}")
    if unit.output_cap < 100:
        found.append(f"output_cap must be at least 100 characters, got {unit.output_cap!r}")
    found += [_choice_fault(unit, name) for name in _CHOICES]
    found += [
        async_fault(f"{name}=", getattr(unit, name))
        for name in ("prompt", "input_adapter", "output_adapter", "tools")
    ]
    return [Fault(str(unit.id), message) for message in found if message]


_CHOICES: dict[str, Any] = {
    "answer": ("resolve", "text"),
    "memory": get_args(Memory),
    "sees": ("predecessors", "all-steps"),
    "tool_execution": ("parallel", "sequential"),
    "steering": get_args(Mode),
    "thinking_level": (None, *get_args(ThinkingLevel)),
}


def _choice_fault(unit: WorkflowUnit[Any], name: str) -> str | None:
    given = getattr(unit, name)
    if given in _CHOICES[name]:
        return None
    return f"{name}={given!r} is none of: {', '.join(repr(choice) for choice in _CHOICES[name])}"


def _output_fault(output: Any) -> str | None:
    try:
        output_schema(output)
    except TypeError as error:
        return f"output: {error}"
    return None


def _prompt_fault(prompt: Any) -> str | None:
    return (
        None
        if isinstance(prompt, str) or callable(prompt)
        else f"prompt must be text or a function, not {prompt!r}"
    )

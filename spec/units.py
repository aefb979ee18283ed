"""The table of units."""

from __future__ import annotations

from typing import Any, get_args

from ..core.errors import DefinitionError
from ..nodes.inbox import Mode
from ..nodes.unit import Memory, ThinkingLevel, WorkflowUnit
from .adapters import ADAPTER
from .compound import Forms, ListOf
from .condition import Condition
from .kinds import BAD, Kind, Reading, Schema, Schemas, Writing, wrong
from .models import MODEL
from .policies import LIMITS, RETRY, TERMINATION, limited
from .record import Record, rows_of
from .references import Import, NameOr
from .simple import Choice, Flag, Maybe, Number, Text
from .tools import Tools
from .tree import Node, Scalar, Table
from .types import Type


class _Prompt:
    """The role: its text, or `{function: path}` for a function of the Snapshot."""

    what = "a text, or {function: import path}"
    _form = Forms(lambda registry: {"function": Import("a function of the Snapshot")}, "a prompt", bare=False)

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table | Scalar)

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) or callable(value)

    def read(self, node: Node, at: Reading) -> Any:
        return self._form.read(node, at) if isinstance(node, Table) else Text(self.what).read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        return Text().write(value, at) if isinstance(value, str) else self._form.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [{"type": "string"}, self._form.schema(to)]}


_FUNCTION = Maybe(Import("a function of the Snapshot"))
_WHOLE: Kind = Number(1, whole=True)

UNIT = Record(
    "a unit",
    rows_of(
        WorkflowUnit,
        ("id", Text("an id"), "its name, by which flows refer to it"),
        ("description", Text(), "what it is for, as other units are told"),
        ("prompt", _Prompt(), "the role: what the model is told it is"),
        (
            "output",
            Type("the type of its output"),
            "what it hands in: a type, an import path or a JSON Schema",
        ),
        ("tools", Tools(), "what it may call"),
        ("tool_handler", _FUNCTION, "runs raw tool definitions, by name and JSON arguments"),
        ("input_adapter", _FUNCTION, "makes its first message from the Snapshot"),
        (
            "output_adapter",
            Maybe(NameOr("a state key")),
            "the state key its output is written to, or a function",
        ),
        ("termination", Maybe(TERMINATION), "when it stops, beside resolve"),
        ("memory", Choice(get_args(Memory)), "how long it remembers its own transcript"),
        ("sees", Choice(("predecessors", "all-steps")), "whose outputs it is shown"),
        ("conversation", Flag(), "whether it sees what users said and were answered"),
        ("answer", Choice(("resolve", "text")), "text: a reply without calls ends it, as in a chat"),
        ("model", Maybe(MODEL), "its own model, instead of the workflow's"),
        ("adapter", Maybe(ADAPTER), "how it is executed, instead of the workflow's adapter"),
        ("thinking_level", Maybe(Choice(get_args(ThinkingLevel))), "how much its model thinks"),
        ("limits", Maybe(LIMITS), "what it may spend"),
        ("retry", Maybe(RETRY), "how it is tried again when it fails"),
        ("when", Maybe(Condition()), "it runs only if this holds"),
        ("tool_execution", Choice(("parallel", "sequential")), "how calls of one reply run"),
        ("tool_choice", Maybe(Text()), "what the provider is told of choosing tools"),
        ("max_rounds", _WHOLE, "model replies in all"),
        ("resolve_attempts", _WHOLE, "invalid resolve calls that are answered"),
        ("reminders", Number(0, whole=True), "reminders after replies without a call"),
        ("reply_attempts", _WHOLE, "cut or unreadable replies in a row"),
        ("output_cap", Number(100, whole=True), "characters that a tool result may have"),
        ("accept_json_text", Flag(), "whether a plain JSON reply that fits counts"),
        ("lift_text_calls", Flag(), "whether tool calls written as text count"),
        ("strict_alternation", Flag(), "whether adjacent user messages are sent as one"),
        ("steering", Choice(get_args(Mode)), "how many waiting messages it is given at a time"),
        ("force_last_round", Flag(), "whether the last round must resolve"),
        ("salvage", Maybe(Type("a type")), "what is asked for when a limit ends it"),
        ("writes", ListOf(Text("a state key"), single=True), "state keys that its tools and adapters write"),
        ("reads", ListOf(Text("a state key"), single=True), "state keys that must be there before it"),
    ),
    WorkflowUnit,
    WorkflowUnit,
    doc="A typed loop of model and tools that ends when its resolve tool fires.",
)


def read_unit(node: Node, at: Reading) -> Any:
    """A unit; one with faults as far as it could be read, so that the flow around it can be judged."""
    if not isinstance(node, Table):
        return wrong(UNIT, node, at)
    given, is_whole = UNIT.read_rows(node, at)
    if limits := limited(given.get("limits"), at.book.unit_s):
        given["limits"] = limits
    made = UNIT.built(given, node, at) if is_whole else BAD
    if made is BAD:
        made = _stand_in(given)
        if made is BAD:
            return BAD
        at.book.spoiled.add(id(made))
    return at.keep(made, node)


def _stand_in(given: dict[str, Any]) -> Any:
    """What a unit with faults may be judged as: with its id, and all that is right about it if it can be."""
    for fields in (given, {"id": given.get("id")}):
        try:
            return WorkflowUnit(**fields)
        except (DefinitionError, TypeError, ValueError):
            made = BAD
    return made

"""Limits, retries and termination policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from langgraph.types import RetryPolicy

from ..core.outcome import StopReason as StopWord
from ..core.usage import Limits
from ..nodes.termination import (
    AllOf,
    AnyOf,
    Condition,
    Delegated,
    Limit,
    MaxRounds,
    Policy,
    Resolved,
    StopReason,
)
from .compound import Either, Forms, ListOf
from .kinds import BAD, Kind, Reading, Schema, Schemas, Writing
from .record import Record, Row, rows_of
from .references import Import
from .simple import Choice, Flag, Maybe, Number, Text
from .tree import Node, Table

LIMITS = Record(
    "a set of limits",
    rows_of(
        Limits,
        ("tokens", Maybe(Number(0, whole=True)), "input and output tokens together"),
        ("model_calls", Maybe(Number(0, whole=True)), "calls of models"),
        ("tool_calls", Maybe(Number(0, whole=True)), "calls of tools"),
        ("seconds", Maybe(Number(0)), "wall-clock seconds since the part began or was resumed"),
        also={
            "tokens": ("max_tokens",),
            "model_calls": ("max_model_calls",),
            "tool_calls": ("max_tool_calls",),
        },
    ),
    Limits,
    Limits,
    doc="What a part may spend, everything below it included.",
)


TIMEOUT = Record(
    "a timeout",
    (
        Row("unit_s", Maybe(Number(0)), None, "seconds for each unit that has no limit of its own"),
        Row("workflow_s", Maybe(Number(0)), None, "seconds for a run"),
    ),
    lambda **given: given,
    dict,
)
POLICY = Record(
    "a policy",
    (
        Row("timeout", TIMEOUT, {}, "how long units and runs may take"),
        Row("limits", LIMITS, None, "what a run may spend"),
    ),
    lambda **given: given,
    dict,
    doc="The limits of a run and its units in one place; it is read as limits of the workflow and its units.",
)


def limited(limits: Limits | None, seconds: float | None) -> Limits | None:
    """The limits with a number of seconds, unless they have one."""
    if seconds is None or (limits is not None and limits.seconds is not None):
        return limits
    return replace(limits or Limits(), seconds=seconds)


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


RETRY = Record(
    "a retry policy",
    tuple(
        Row(key, kind, RetryPolicy._field_defaults[key], doc)
        for key, kind, doc in (
            ("initial_interval", Number(0), "seconds before the first retry"),
            ("backoff_factor", Number(0), "what the interval is multiplied by after each retry"),
            ("max_interval", Number(0), "seconds between retries at most"),
            ("max_attempts", Number(1, whole=True), "attempts in all, the first included"),
            ("jitter", Flag(), "whether the interval varies at random"),
            (
                "retry_on",
                Either(
                    (
                        ListOf(Import("an exception class", _is_error)),
                        Import("an exception class, or a function of the exception", callable),
                    )
                ),
                "exception classes to retry on, or a function that says so",
            ),
        )
    ),
    RetryPolicy,
    RetryPolicy,
    doc="How often, and how soon, a failed unit is tried again.",
)


@dataclass(frozen=True)
class One:
    """A policy with one value: `{max_rounds: 5}`. `cls` is made of what `kind` reads."""

    cls: type
    kind: Kind
    attribute: str

    @property
    def what(self) -> str:
        return self.kind.what

    def fits(self, node: Node) -> bool:
        return self.kind.fits(node)

    def holds(self, value: Any) -> bool:
        return type(value) is self.cls

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Table) and not node.entries and self.attribute in _OPTIONAL.get(self.cls, ()):
            return self.cls()
        value = self.kind.read(node, at)
        return BAD if value is BAD else self.cls(value)

    def write(self, value: Any, at: Writing) -> Any:
        return self.kind.write(getattr(value, self.attribute), at)

    def schema(self, to: Schemas) -> Schema:
        return self.kind.schema(to)


_OPTIONAL: dict[type, tuple[str, ...]] = {StopReason: ("reason",), Delegated: ("to",)}


@dataclass(frozen=True)
class Whole:
    """A termination policy: one of the forms, or an import path of one."""

    what: str = "a termination policy"

    def fits(self, node: Node) -> bool:
        return True

    def holds(self, value: Any) -> bool:
        return isinstance(value, Policy)

    def read(self, node: Node, at: Reading) -> Any:
        return _EITHER.read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        known = any(kind.holds(value) for kind in _FORMS.values())
        return (_NAMED if known else _OWN).write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return to.named("termination", lambda: _EITHER.schema(to))


TERMINATION = Whole()
_FORMS: Mapping[str, Kind] = {
    "resolved": Record("a resolved policy", (), Resolved, Resolved),
    "stop_reason": One(StopReason, Choice(get_args(StopWord)), "reason"),
    "max_rounds": One(MaxRounds, Number(1, whole=True), "rounds"),
    "condition": One(Condition, Import("a function of the shared state", _is_function), "holds"),
    "delegated": One(Delegated, Maybe(Text("the id of a specialist")), "to"),
    "limit": One(Limit, LIMITS, "limits"),
    "any": One(AnyOf, ListOf(TERMINATION), "policies"),
    "all": One(AllOf, ListOf(TERMINATION), "policies"),
}
_OWN = Import("a termination policy", lambda value: isinstance(value, Policy))
_NAMED = Forms(lambda registry: _FORMS, "a termination policy")
_EITHER = Either((_OWN, _NAMED), "a termination policy")

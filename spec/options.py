"""The rows of a spec that are the options of its Workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from ..core.errors import PlaitError
from ..core.stateschema import state_schema
from ..graphs.binding import Granularity
from ..graphs.region import Scheduling
from .adapters import ADAPTER
from .compound import MapOf, Wrapped
from .kinds import BAD, Reading, Schema, Schemas, Writing, is_text, wrong
from .models import MODEL
from .policies import LIMITS, POLICY, limited
from .record import Row
from .references import Import
from .simple import Choice, Maybe, Number, Text
from .tree import Node, Scalar
from .types import Type


@dataclass(frozen=True)
class _Url:
    """Where threads live: `memory`, a URL, or a saver or store by import path."""

    name: str

    @property
    def what(self) -> str:
        return "'memory', 'sqlite:///FILE', 'postgresql://…', or an import path"

    def fits(self, node: Node) -> bool:
        return is_text(node)

    def holds(self, value: Any) -> bool:
        return True

    def read(self, node: Node, at: Reading) -> Any:
        if not (isinstance(node, Scalar) and isinstance(node.value, str)):
            return wrong(self, node, at)
        fault = at.book.registry.url_fault(node.value, self.name)
        if fault is None:
            return node.value
        if "://" in node.value or ":" not in node.value:
            return at.fault("bad-value", fault, node)
        return Import(f"a {self.name}", lambda it: at.book.registry.url_fault(it, self.name) is None).read(
            node, at
        )

    def write(self, value: Any, at: Writing) -> Any:
        return (
            Text().write(value, at) if isinstance(value, str) else Import(f"a {self.name}").write(value, at)
        )

    def schema(self, to: Schemas) -> Schema:
        return {"type": "string"}


@dataclass(frozen=True)
class _Key:
    """The key that threads are encrypted with; it never stands in the file itself."""

    what: str = "'env:NAME', or an import path of a function"

    def fits(self, node: Node) -> bool:
        return is_text(node)

    def holds(self, value: Any) -> bool:
        return True

    def read(self, node: Node, at: Reading) -> Any:
        if not (isinstance(node, Scalar) and isinstance(node.value, str)):
            return wrong(self, node, at)
        return node.value if node.value.startswith("env:") else Import("a function").read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        if isinstance(value, bytes):
            return at.fault("a key does not belong into a file; give it as 'env:NAME'")
        return Text().write(value, at) if isinstance(value, str) else Import("a function").write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return {"type": "string"}


class _State(Wrapped):
    """A type that the shared state can have."""

    def read(self, node: Node, at: Reading) -> Any:
        given = super().read(node, at)
        try:
            return given if given is BAD or state_schema(given) else BAD
        except PlaitError as error:
            return at.fault("bad-value", str(error), node)


class _Class(Wrapped):
    """A class, of which a type with several members is none."""

    def read(self, node: Node, at: Reading) -> Any:
        given = super().read(node, at)
        if given is BAD or isinstance(given, type):
            return given
        return at.fault("wrong-type", f"a class is due here, not {given!r:.80}", node)


class _Model(Wrapped):
    """The workflow's model, which adapters without one of their own take."""

    def read(self, node: Node, at: Reading) -> Any:
        model = super().read(node, at)
        if model is not BAD:
            at.book.model = model
        return model


class _Policy(Wrapped):
    """Limits and timeouts, which count for the units that are read after it."""

    def read(self, node: Node, at: Reading) -> Any:
        policy = super().read(node, at)
        if policy is not BAD:
            at.book.unit_s = policy.get("timeout", {}).get("unit_s")
        return policy


OPTIONS = (
    Row("model", _Model(MODEL), None, "the chat model that units run on"),
    Row("adapter", Maybe(ADAPTER), None, "how units are executed"),
    Row("overrides", Maybe(MapOf(ADAPTER)), None, "other adapters, by unit id"),
    Row(
        "state",
        Maybe(_State(Type("the type of the shared state"))),
        None,
        "a type, or a JSON Schema, of the shared state",
    ),
    Row(
        "context_schema",
        Maybe(_Class(Type("the type of the context"))),
        None,
        "the type of what a run is given as context",
    ),
    Row("checkpointer", Maybe(_Url("checkpointer")), None, "where threads are kept"),
    Row("store", Maybe(_Url("store")), None, "where messages and memories are kept"),
    Row("encryption_key", Maybe(_Key()), None, "encrypts what threads keep: env:NAME"),
    Row("limits", Maybe(LIMITS), None, "what a run may spend"),
    Row("max_concurrency", Maybe(Number(1, whole=True)), None, "units and steps that run at a time"),
    Row("scheduling", Choice(get_args(Scheduling)), "eager", "how parallel parts are run"),
    Row(
        "default_effect",
        Choice(("read", "idempotent", "unsafe")),
        "unsafe",
        "what tools are taken for that declare none",
    ),
    Row("granularity", Choice(get_args(Granularity)), "round", "what a step of a unit is"),
)
POLICY_ROW = Row("policy", _Policy(POLICY), None, "limits and timeouts in one place")


def with_policy(options: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The options with what the policy says of a run, where they do not say it themselves."""
    policy = given.get("policy") or {}
    limits = options.get("limits") or policy.get("limits")
    made = limited(limits, policy.get("timeout", {}).get("workflow_s"))
    return options if made is None else {**options, "limits": made}

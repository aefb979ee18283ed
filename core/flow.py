"""The base of all flows, and what a flow asks for: its visits. Values; nothing here runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, overload

from .bookkeeping import Role
from .bus import BusMessage
from .conditions import Predicate
from .part import In, Out, Part
from .paths import join
from .snapshot import Input, Snapshot
from .usage import Limits


@dataclass(frozen=True, slots=True)
class Visit:
    """One part to run now: its key in the flow, the path it runs at, and what it is given.

    `task` replaces the turn's task for the part; `blocked` says why it is skipped instead; it is
    `unsure` when something failed that it was told of, so that a resume runs it again; the `messages`
    are published on the bus before it, and its output after it when it `announces`.
    """

    key: str
    path: str
    inputs: tuple[Input, ...] = ()
    task: Any = None
    blocked: str | None = None
    unsure: bool = False
    messages: tuple[BusMessage, ...] = ()
    announces: bool = False


@dataclass(frozen=True)
class Flow(Part[In, Out]):
    """What all flows share: an optional id, a condition, and limits that cover their parts."""

    id: str | None = field(default=None, kw_only=True)
    when: Predicate | None = field(default=None, kw_only=True)
    limits: Limits | None = field(default=None, kw_only=True)

    type: ClassVar[str] = "flow"

    @property
    def parts(self) -> Mapping[str, Any]:
        raise TypeError(f"{type(self).__name__} must define parts")

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        raise TypeError(f"{type(self).__name__} must define next")

    def is_complete(self, snapshot: Snapshot) -> bool:
        return not self.next(snapshot)

    def reading(self, key: str) -> Any:
        """How the output of the unit `key` is read while it may still be asked again, or None."""
        return None

    def role_of(self, key: str) -> Role | None:
        """What the part `key` is to this flow, when its records are to say so."""
        return None

    def place_of(self, key: str, path: str) -> str:
        """Where the part `key` stands when this flow stands at `path`, passes left out."""
        return join(path, key)

    @overload
    def with_(
        self, *, id: str | None = ..., when: Predicate | None = ..., limits: Limits | None = ...
    ) -> Self: ...
    @overload
    def with_(self, **changes: Any) -> Any: ...
    def with_(self, **changes: Any) -> Any:
        """A variant of this flow."""
        return replace(self, **changes)

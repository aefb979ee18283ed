"""The vocabulary of the message bus: one frozen class per kind of message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class BusMessage:
    """What all messages have: a deterministic id, the path it came from, when (epoch seconds)."""

    type: ClassVar[str] = "message"
    id: str = ""
    path: str = ""
    timestamp: float = 0.0

    def to_plain(self) -> dict[str, Any]:
        return {"type": self.type, **{f.name: getattr(self, f.name) for f in fields(self)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitOutput(BusMessage):
    type: ClassVar[str] = "unit-output"
    source: str
    output: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationMessage(BusMessage):
    type: ClassVar[str] = "delegation"
    source: str
    target: str
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering(BusMessage):
    type: ClassVar[str] = "steering"
    target: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp(BusMessage):
    type: ClassVar[str] = "followup"
    target: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broadcast(BusMessage):
    type: ClassVar[str] = "broadcast"
    source: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateUpdate(BusMessage):
    type: ClassVar[str] = "state-update"
    key: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class HitlRequest(BusMessage):
    type: ClassVar[str] = "hitl-request"
    question: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class HitlResponse(BusMessage):
    type: ClassVar[str] = "hitl-response"
    answer: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyViolation(BusMessage):
    type: ClassVar[str] = "policy-violation"
    policy: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostUpdate(BusMessage):
    type: ClassVar[str] = "cost-update"
    usage: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(BusMessage):
    type: ClassVar[str] = "audit"
    entry: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMessage(BusMessage):
    type: ClassVar[str] = "checkpoint"
    checkpoint_id: str


KINDS: dict[str, type[BusMessage]] = {
    kind.type: kind
    for kind in (
        UnitOutput,
        DelegationMessage,
        Steering,
        FollowUp,
        Broadcast,
        StateUpdate,
        HitlRequest,
        HitlResponse,
        PolicyViolation,
        CostUpdate,
        Audit,
        CheckpointMessage,
    )
}


def known_types() -> list[str]:
    """The type names of all messages there are, those of classes of your own included."""
    kinds: list[type[BusMessage]] = [BusMessage]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return list(dict.fromkeys(kind.type for kind in kinds))


def message_from_plain(plain: Mapping[str, Any]) -> BusMessage:
    """The message that `to_plain` wrote. Raises KeyError for a kind that does not exist."""
    return KINDS[plain["type"]](**{name: value for name, value in plain.items() if name != "type"})

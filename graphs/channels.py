"""The channels of a flow's graph, and the way between them and Deltas.

A child graph never shares these with its parent: what it did comes back as one Delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage
from langgraph.channels import EphemeralValue
from langgraph.types import Overwrite
from typing_extensions import TypedDict  # typing's has no JSON schema before Python 3.12

from ..nodes.plainmessages import as_messages
from ..nodes.unitstate import add_items, growing


def add_by_id(old: list[dict[str, Any]], batches: Sequence[Any]) -> list[dict[str, Any]]:
    """`old` with each batch added; an item whose id is there takes its place."""
    merged = {item["id"]: item for item in old}
    for batch in batches:
        merged.update((item["id"], item) for item in batch)
    return list(merged.values())


def add_conversation(old: list[BaseMessage], batches: Sequence[Any]) -> list[BaseMessage]:
    """LangGraph's message semantics (ids replace, RemoveMessage removes), with ids that follow
    from place and content, so that replaying writes gives the same list."""
    merged = {str(message.id): message for message in old}
    for batch in batches:
        for message in as_messages(batch if isinstance(batch, list) else [batch]):
            if isinstance(message, RemoveMessage):
                merged.pop(str(message.id), None)
                continue
            if message.id is None:
                message = message.model_copy(update={"id": _message_id(len(merged), message)})
            merged[str(message.id)] = message
    return list(merged.values())


def _message_id(place: int, message: BaseMessage) -> str:
    return sha256(f"{place}:{message.type}:{message.content}".encode("utf-8", "replace")).hexdigest()[:32]


def replace_by_key(old: dict[str, Any], batches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`old` with each batch's keys replaced, each of which holds messages."""
    merged = dict(old)
    for batch in batches:
        merged.update((key, as_messages(held)) for key, held in batch.items())
    return merged


Steps = Annotated[list[dict[str, Any]], growing(add_by_id)]


class FlowState(TypedDict, total=False):
    """What a nested flow has done so far."""

    steps: Steps
    writes: Annotated[list[dict[str, Any]], growing(add_items)]
    bus: Annotated[list[dict[str, Any]], growing(add_by_id)]
    transcripts: Annotated[dict[str, list[AnyMessage]], growing(replace_by_key, dict)]
    delivered: Annotated[list[str], growing(add_items)]


GIVEN = "__given__"
"""Where state keys that came from outside wait until they are checked and encoded."""


def take_given(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """State keys from a caller or an editor, put beside what is there; the framework overwrites."""
    return {**old, GIVEN: {**old.get(GIVEN, {}), **new}}


Messages = Annotated[list[AnyMessage], growing(add_conversation)]
Given = Annotated[dict[str, Any], take_given]
TaskValue = Annotated[Any, EphemeralValue]


class Turn(TypedDict, total=False):
    """The bookkeeping of one turn: its number and task, what limits count from, and the `fault` of an
    input that could not be taken, with which nothing runs."""

    number: int
    task: Any
    before: int
    started: float
    floor: dict[str, Any]
    definition: dict[str, str]
    bundle: str
    fault: str


class Ended(TypedDict, total=False):
    """How the turn ended, beside output and outcome."""

    reason: str | None
    message: str
    path: str
    accepted: bool | None
    value: Any
    text: str


class RootState(FlowState, total=False):
    """A root flow's channels: what it did, and the turn, the conversation and the state."""

    task: TaskValue
    messages: Messages
    state: Given
    scopes: dict[str, dict[str, Any]]
    turn: Turn
    output: Any
    outcome: str
    ended: Ended
    rewind: Annotated[bool, EphemeralValue]


EMPTY_TURN: dict[str, Any] = {
    "steps": Overwrite([]),
    "writes": Overwrite([]),
    "bus": Overwrite([]),
}
"""The update with which a new turn clears what the former one did; what was delivered stays delivered."""

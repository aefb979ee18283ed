"""The ten events of a run, in the names and order of pi-agent-core.

A run and each unit in it: `agent_start, (turn_start, (message_start, message_update*,
message_end)+, (tool_execution_start, tool_execution_update*, tool_execution_end)*, turn_end)*,
agent_end`. Every start has its end, also on failure and cancel. Source: the event names and
their order are those of pi-agent-core.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict

from .outcome import Outcome, Reason

EventType = Literal[
    "agent_start",
    "turn_start",
    "message_start",
    "message_update",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "turn_end",
    "agent_end",
]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run; `path` is "" for the run itself.

    `sequence` counts from 1 within the run, `time` is seconds since the epoch. `delta` is a piece
    of text the model wrote; where it writes a call, `tool` says of which and `args` is the piece
    of JSON, beside a blank `delta`. `result` is the run's result on its last event; other fields are
    set where the type calls for them.
    """

    type: EventType
    run_id: str = ""
    path: str = ""
    sequence: int = 0
    time: float = 0.0
    unit: str | None = None
    message: Any = None
    delta: str | None = None
    tool: str | None = None
    call_id: str | None = None
    args: Any = None
    content: Any = None
    is_error: bool = False
    outcome: Outcome | None = None
    reason: Reason | None = None
    error: str | None = None
    resumed: bool = False
    result: Any = None

    @property
    def is_last(self) -> bool:
        """Whether the run has ended with this event."""
        return self.type == "agent_end" and self.path == ""

    def is_wanted(self, path: str | None, types: Collection[str] | None) -> bool:
        """Whether it passes the filters of a reader; the last event always does."""
        fits = (path is None or self.path == path) and (types is None or self.type in types)
        return fits or self.is_last

    def to_plain(self) -> dict[str, Any]:
        """The fields that say something, without `result`, as plain values to send on.

        A message is in LangChain's dict form. `from_plain` reads it all.
        """
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "result"}
        plain = {name: value for name, value in named.items() if value is not None and value is not False}
        if isinstance(self.message, BaseMessage):
            plain["message"] = message_to_dict(self.message)
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Event:
        """The event that `to_plain` wrote; what it does not know of is left out."""
        known = {f.name: plain[f.name] for f in fields(cls) if f.name in plain}
        if isinstance(known.get("message"), Mapping):
            known["message"] = messages_from_dict([known["message"]])[0]
        return cls(**known)

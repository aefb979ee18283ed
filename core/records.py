"""The record of one finished part, and of each tool call in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .outcome import Reason, Status, StopReason
from .stored import NOTHING, Stored, Types
from .usage import Usage

ANEW = "anew"
"""In the metadata of a rewound record: the part did well and begins again, instead of going on."""

Kind = Literal["unit", "step", "flow"]


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """One tool call: what was asked, and the full text of what came back.

    `decision` is a person's, where the call needed one: its `type` (`accept`, `edit`, `reject`,
    `respond`), and if given `by`, `why`, and the `args` that it ran with instead. `rerun`: the call was
    under way in a crash and ran a second time, because somebody said so.
    """

    id: str
    name: str
    args: Mapping[str, Any]
    output: str = ""
    ok: bool = True
    decision: Mapping[str, Any] | None = None
    rerun: bool = False

    def to_plain(self) -> dict[str, Any]:
        plain = {
            "id": self.id,
            "name": self.name,
            "args": dict(self.args),
            "output": self.output,
            "ok": self.ok,
        }
        decided = {} if self.decision is None else {"decision": dict(self.decision)}
        return {**plain, **decided, **({"rerun": True} if self.rerun else {})}


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One finished part of a run: a unit, a function step, or a nested flow.

    `path` addresses it, `unit` is its id, `output` its typed output (None unless done or
    partial), `text` the last text the model wrote. Times are seconds; `started_at` since the
    epoch. `usage` is the part's own; flows carry none, so that a sum counts nothing twice.
    """

    path: str
    unit: str
    kind: Kind = "unit"
    status: Status = "done"
    reason: Reason | None = None
    message: str = ""
    stored: Stored = NOTHING
    text: str = ""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    stop_reason: StopReason = "stop"
    delegated_by: str | None = None
    usage: Usage = Usage()
    started_at: float = 0.0
    duration_s: float = 0.0
    attempt: int = 1
    definition: str = ""
    ends: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Deterministic: a record made again for the same attempt replaces itself."""
        return f"{self.path}#{self.attempt}"

    @property
    def output(self) -> Any:
        return self.stored.value

    @property
    def is_final(self) -> bool:
        """Whether the part need not run again: it did not fail, or nobody has resumed it."""
        return self.status != "rewound"

    def rewound(self) -> StepRecord:
        """The same record, taken up again by a resume: kept for its usage and transcript."""
        return replace(self, status="rewound")

    def to_plain(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in _SIMPLE if getattr(self, name) != _DEFAULTS[name]}
        plain |= {"id": self.id, "path": self.path, "unit": self.unit, "status": self.status}
        if self.stored is not NOTHING:
            plain["output"] = self.stored.plain
        if self.tool_calls:
            plain["tool_calls"] = [call.to_plain() for call in self.tool_calls]
        if self.usage != Usage():
            plain["usage"] = self.usage.to_plain()
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], types: Types | None = None) -> StepRecord:
        simple = {name: plain[name] for name in ("path", "unit", "status", *_SIMPLE) if name in plain}
        key = f"output of {plain['path']}"
        stored = Stored(plain["output"], key, types) if "output" in plain else NOTHING
        calls = tuple(ToolCallRecord(**call) for call in plain.get("tool_calls", ()))
        return cls(**simple, stored=stored, tool_calls=calls, usage=Usage.from_plain(plain.get("usage")))


_SIMPLE = (
    "kind",
    "reason",
    "message",
    "text",
    "stop_reason",
    "delegated_by",
    "started_at",
    "duration_s",
    "attempt",
    "definition",
    "ends",
    "metadata",
)
_DEFAULTS: dict[str, Any] = {name: getattr(StepRecord(path="", unit=""), name) for name in _SIMPLE}

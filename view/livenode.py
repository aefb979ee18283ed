"""What a live run is made of: a node for each unit and step, a row for each line that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..core.outcome import Reason

LiveStatus = Literal["waiting", "running", "done", "partial", "failed", "skipped", "paused", "cancelled"]
LiveKind = Literal["run", "flow", "unit", "step"]


@dataclass(frozen=True, slots=True)
class LiveNode:
    """One part of a run. `text` is the end of what its model last wrote, `writing` the tool
    of the call that it writes now, `calls` the tool calls that
    are under way: pairs of call id and tool. `tokens` are input and output, as far as replies told them;
    `started_s` and `ended_s` are seconds since the epoch."""

    path: str
    unit: str = ""
    kind: LiveKind = "unit"
    status: LiveStatus = "waiting"
    reason: Reason | None = None
    error: str | None = None
    text: str = ""
    writing: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    model_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    started_s: float | None = None
    ended_s: float | None = None

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]

    @property
    def tool(self) -> str:
        """The tools that run now, each once, as in `search, read_file`; blank when none does."""
        return ", ".join(dict.fromkeys(name for _, name in self.calls))

    def elapsed_s(self, now: float) -> float:
        """Seconds since it began, or that it took; 0 when it has not begun."""
        return 0.0 if self.started_s is None else max(0.0, (self.ended_s or now) - self.started_s)


@dataclass(frozen=True, slots=True)
class LiveRow:
    """A line to show: a node, and how deep it stands. The root's parts stand at 0."""

    depth: int
    node: LiveNode

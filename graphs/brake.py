"""Brake: how a run is stopped from outside, and what its handle and the run itself know of that."""

from __future__ import annotations

from dataclasses import dataclass, field

from langgraph.runtime import RunControl


@dataclass(slots=True)
class Brake:
    """One run's. `control` is how LangGraph is asked to stop at the next boundary, from any thread;
    `is_cancelling`: the run is being cancelled by its handle, which wants what was done by then."""

    control: RunControl = field(default_factory=RunControl)
    is_cancelling: bool = False

    def drain(self) -> None:
        """Let what is under way end, and begin nothing more. May be called from any thread."""
        self.control.request_drain("asked to stop")

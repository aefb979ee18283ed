"""What the command's exit status says."""

from __future__ import annotations

from ..core.outcome import Outcome

DONE, FAILED, USAGE, PAUSED, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 4, 130

MEANINGS = {
    DONE: "done",
    FAILED: "a run, a check or a test case failed",
    USAGE: "wrong usage, or a file that holds no workflow that can run",
    PAUSED: "the run is paused and waits for an answer",
    PARTIAL: "the run is done in part",
    INTERRUPTED: "interrupted; the run can be resumed",
}

_OF_OUTCOME: dict[Outcome, int] = {
    "done": DONE,
    "partial": PARTIAL,
    "paused": PAUSED,
    "failed": FAILED,
    "cancelled": INTERRUPTED,
}


def status_of(outcome: Outcome) -> int:
    return _OF_OUTCOME[outcome]


def worst(statuses: list[int]) -> int:
    """One status for many runs: the interruption, else the failure, else what is still open, else done."""
    order = (INTERRUPTED, USAGE, FAILED, PAUSED, PARTIAL)
    return next((status for status in order if status in statuses), DONE)

"""A failed step as a value, for whoever reads the outputs of steps that ran beside it."""

from __future__ import annotations

from dataclasses import dataclass

from .records import StepRecord


@dataclass(frozen=True, slots=True)
class Failure:
    """What a reducer or aggregator sees in place of an output: where, why, and the last text."""

    path: str
    reason: str
    message: str = ""
    text: str = ""

    def __str__(self) -> str:
        said = f"; its last text: {self.text}" if self.text else ""
        return f"failed ({self.reason}): {self.message}{said}"


def failure_of(record: StepRecord) -> Failure:
    """A failed, cancelled or skipped record as a Failure."""
    return Failure(record.path, record.reason or record.status, record.message, record.text)

"""What `map-reduce.yaml` takes from Python: how its task is cut into items, and what is shown of one."""

from __future__ import annotations

from plait import Snapshot


def reviews(snapshot: Snapshot) -> list[str]:
    """The reviews in the task, one a line; blank lines are none."""
    return [line.strip() for line in str(snapshot.task).splitlines() if line.strip()]


def one_review(snapshot: Snapshot) -> str:
    """What `judge` sees: its own review alone."""
    return str(snapshot.output)

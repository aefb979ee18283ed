"""The points of a thread's past: where it stood, what had run, what was to run next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from langchain_core.runnables.config import set_config_context
from langgraph.constants import START
from langgraph.types import StateSnapshot

from ..core.errors import PlaitError
from ..core.paths import is_below
from ..core.snapshot import Snapshot
from .asking import visits
from .drive import Drive
from .root import ENTER, EXIT, RootPlace

PointKind = Literal["input", "step", "paused", "edit", "end"]
"""What a point is: new input came in, something ran, a person was asked, the state was edited from
outside, a turn ended."""

FORKED = "plait_forked_from"
"""The key in a checkpoint's metadata that says which thread and checkpoint it was copied from."""


@dataclass(frozen=True, slots=True)
class ThreadPoint:
    """One point of a thread: a checkpoint of its root.

    `last` is the path of what ran last in the turn, `next` the paths of what runs from here. `snapshot`
    is LangGraph's own.
    """

    id: str
    turn: int
    kind: PointKind
    last: str
    next: tuple[str, ...]
    time: datetime | None
    snapshot: StateSnapshot = field(repr=False, compare=False)

    @property
    def forked_from(self) -> tuple[str, str] | None:
        """The thread and the point in it that a fork was made of, at the point where it was made."""
        thread, _, point = str((self.snapshot.metadata or {}).get(FORKED, "")).rpartition("/")
        return (thread, point) if thread else None

    def __str__(self) -> str:
        ran, then = self.last or "-", ", ".join(self.next) or "-"
        return f"{self.id}  turn {self.turn}  {self.kind:<6}  ran {ran}  next {then}"


async def points_of(drive: Drive, limit: int | None = None) -> list[ThreadPoint]:
    """The thread's points, newest first."""
    return [point_of(drive, snapshot) for snapshot in await drive.history(limit)]


def point_of(drive: Drive, state: StateSnapshot) -> ThreadPoint:
    """A root checkpoint as a point."""
    turn = int((state.values.get("turn") or {}).get("number", 0))
    begins = any(name in (START, ENTER) for name in (task.name for task in state.tasks))
    steps = () if begins else state.values.get("steps", ())
    return ThreadPoint(
        id=checkpoint_id(state),
        turn=turn + 1 if begins else turn,
        kind=_kind(state, begins=begins),
        last=steps[-1]["path"] if steps else "",
        next=() if begins else next_paths(drive, state),
        time=datetime.fromisoformat(state.created_at) if state.created_at else None,
        snapshot=state,
    )


def checkpoint_id(state: StateSnapshot) -> str:
    return str(state.config["configurable"]["checkpoint_id"])


def _kind(state: StateSnapshot, *, begins: bool) -> PointKind:
    if state.interrupts:
        return "paused"
    if begins:
        return "input"
    if (state.metadata or {}).get("source") == "update":
        return "edit"
    return "step" if state.next else "end"


def next_paths(drive: Drive, state: StateSnapshot) -> tuple[str, ...]:
    """The paths of the parts that run next."""
    names = {task.name for task in state.tasks} - {EXIT}
    if not names:
        return ()
    flow, snapshot = drive.bound.root, seen_at(drive, state.values)
    found = [visit for visit in visits(flow, snapshot) if visit.key in names]
    if len(found) == 1 and not found[0].path:  # a flow that is the whole of the run, in one node
        found = [*visits(flow.parts[found[0].key], snapshot)]
    return tuple(visit.path for visit in found)


def seen_at(drive: Drive, values: Mapping[str, Any]) -> Snapshot:
    """What the root's channels say, as the root's parts saw it."""
    place = RootPlace(drive.bound.root, drive.bound)
    with set_config_context(drive.full_config) as context:
        return context.run(place.snapshot, values, drive.context)


def chosen(points: Sequence[ThreadPoint], at: ThreadPoint | str | int | None, thread_id: str) -> ThreadPoint:
    """The point that `at` is or names: a checkpoint's id, the number of a turn (its end), or the path of a
    part (just before it ran for the last time); None is the newest. Raises PlaitError when there is none."""
    named: Iterable[ThreadPoint]
    if isinstance(at, ThreadPoint):
        at = at.id
    if at is None:
        named = points
    elif isinstance(at, int):
        named = (point for point in points if point.turn == at and point.kind != "input")
    else:
        named = [p for p in points if p.id == at] or [
            p for p in points if any(is_below(at, path) for path in p.next)
        ]
        named = named or _before(points, at)
    found = next(iter(named), None)
    if found is None:
        told = f"thread {thread_id!r} has no point {at!r}" if points else f"there is no thread {thread_id!r}"
        raise PlaitError(f"{told}; give a checkpoint's id, a turn's number or the path of a part that ran")
    return found


def _before(points: Sequence[ThreadPoint], path: str) -> list[ThreadPoint]:
    """The points from which there ran what no root part names by its path: a later round, a delegation."""
    ran = [point.kind != "input" and path in _paths(point) for point in points]
    return [points[n] for n in range(1, len(points)) if ran[n - 1] and not ran[n]]


def _paths(point: ThreadPoint) -> set[str]:
    return {record["path"] for record in point.snapshot.values.get("steps", ())}

"""What a part of a finished run saw when it ran: its Snapshot, read from the thread's checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ..core.delta import Delta, compose_all
from ..core.errors import PlaitError
from ..core.paths import is_below, memory_key
from ..core.plain import delta_from, seen_from
from ..core.snapshot import Snapshot
from .asking import visits
from .drive import Drive
from .flow import Visit
from .order import Ancestors
from .points import chosen, points_of, seen_at
from .region import Region, visit_of
from .returned import returned
from .supersteps import only


@dataclass(frozen=True)
class Seen:
    """A part where it ran: the flow that it is a part of, its key there, and what it saw."""

    flow: Any
    key: str
    snapshot: Snapshot

    @property
    def part(self) -> Any:
        return self.flow.parts[self.key]


@dataclass(frozen=True)
class _Level:
    """A flow of the past: what it saw, the namespace of its node, and the checkpoint at which it ran."""

    flow: Any
    snapshot: Snapshot
    namespace: str
    held: CheckpointTuple


async def seen_by(drive: Drive, path: str) -> Seen:
    """What the part at `path` saw when it last ran. Raises PlaitError when it did not."""
    point = chosen(await points_of(drive), path, drive.thread_id)
    saver: Any = drive.graph.checkpointer
    saved = [item async for item in saver.alist({"configurable": {"thread_id": drive.thread_id}})]
    root = next(item for item in saved if item.checkpoint["id"] == point.id and not _namespace(item))
    whole = seen_at(drive, point.snapshot.values)
    tasks = {task.name: task.id for task in point.snapshot.tasks}
    found = _entered(drive.bound.root, visits(drive.bound.root, whole), whole, path)
    level = _Level(found.part, found.snapshot, f"{found.key}:{tasks[found.key]}", root)
    while found.snapshot.path != path:
        found, level = await _deeper(drive, level, path, saved)
    return found


async def _deeper(
    drive: Drive, level: _Level, path: str, saved: Sequence[CheckpointTuple]
) -> tuple[Seen, _Level]:
    """One level down: the part of the level's flow that `path` is in or below."""
    if isinstance(level.flow, Region):
        found = await _in_region(drive, level, path)
        held = level.held
    else:
        found, held = await _in_flow(drive, level, path, saved)
    places = _places(saved, f"{level.namespace}|{found.key}:")
    below = [place for place in places if await _is_of(drive, place, found.snapshot.path)] or places
    return found, _Level(found.part, found.snapshot, below[-1] if below else "", held)


async def _in_flow(
    drive: Drive, level: _Level, path: str, saved: Sequence[CheckpointTuple]
) -> tuple[Seen, CheckpointTuple]:
    """The part of a nested flow, as the checkpoint before it tells; of several that `path` is in, as a
    planner beside the region that stands where its flow does, the one that is nearest to it."""
    types = drive.bound.schema.types
    config = _config(drive, level.namespace)
    best: tuple[Seen, CheckpointTuple] | None = None
    async for state in drive.graph.aget_state_history(config):
        snapshot = level.snapshot.apply(seen_from(state.values, types))
        asked = [v for v in visits(level.flow, snapshot) if is_below(path, v.path)]
        if not asked or not any(task.name == asked[0].key for task in state.tasks):
            continue
        found = _entered(level.flow, asked, snapshot, path)
        if best is None or len(found.snapshot.path) > len(best[0].snapshot.path):
            here = state.config["configurable"]["checkpoint_id"]
            held = next(s for s in saved if s.checkpoint["id"] == here and _namespace(s) == level.namespace)
            best = found, held
    if best is None:
        raise _unknown(drive, path)
    return best


async def _in_region(drive: Drive, level: _Level, path: str) -> Seen:
    """The step of a region, which saw what the steps did that it waited for."""
    done = _returned(drive, level)
    done = done if done.steps else await _kept(drive, level)
    plan = level.flow.plan(level.snapshot.apply(done))
    step = next((step for step in plan if is_below(path, step.path)), None)
    if step is None:
        raise _unknown(drive, path)
    seen = only(done, Ancestors(plan)[step.path], plan)
    own = memory_key(step.path)
    held = {key: said for key, said in seen.transcripts.items() if not is_below(key, own)}
    snapshot = level.snapshot.apply(replace(seen, transcripts=held))
    return _entered(level.flow, [visit_of(step, snapshot)], snapshot, path)


def _returned(drive: Drive, level: _Level) -> Delta:
    """What the tasks of an eager region gave, the steps of regions in it among them."""
    types = drive.bound.schema.types
    deltas = [delta_from(value, types) for value in returned(level.held)]
    inside = [delta for delta in deltas if is_below(delta.steps[-1].path, level.snapshot.path)]
    return compose_all(inside)


async def _kept(drive: Drive, level: _Level) -> Delta:
    """What the graph of a region holds that LangGraph ran itself."""
    state = await drive.graph.aget_state(_config(drive, level.namespace))
    return seen_from(state.values, drive.bound.schema.types)


def _entered(flow: Any, found: Sequence[Visit], snapshot: Snapshot, path: str) -> Seen:
    inside = [visit for visit in found if is_below(path, visit.path)]
    if not inside and getattr(flow, "delegates_of", None) is not None:
        raise PlaitError(
            f"{path!r} was delegated to, and what it saw is in no checkpoint, so it cannot be run again by "
            f"itself; fork the thread at it, which runs again who delegated"
        )
    if not inside:
        raise PlaitError(f"{path!r} is no part that ran here")
    visit = max(inside, key=lambda visit: len(visit.path))
    here = snapshot.at(visit.path, visit.inputs)
    here = here if visit.task is None else replace(here, task=visit.task, assigned=True)
    return Seen(flow, visit.key, here)


async def _is_of(drive: Drive, namespace: str, path: str) -> bool:
    """Whether a graph of the past was that of the part at `path`, where several have one name."""
    values = (await drive.graph.aget_state(_config(drive, namespace))).values
    steps = values.get("steps", ()) if isinstance(values, Mapping) else ()
    return any(is_below(step["path"], path) for step in steps)


def _places(saved: Sequence[CheckpointTuple], prefix: str) -> list[str]:
    """The namespaces that begin with `prefix` and go no deeper, oldest first."""

    def cut() -> Iterator[str]:
        for item in reversed(saved):
            namespace = _namespace(item)
            if namespace.startswith(prefix):
                yield prefix + namespace[len(prefix) :].split("|")[0]

    return list(dict.fromkeys(cut()))


def _config(drive: Drive, namespace: str) -> RunnableConfig:
    return {"configurable": {"thread_id": drive.thread_id, "checkpoint_ns": namespace}}


def _namespace(saved: CheckpointTuple) -> str:
    return str(saved.config["configurable"].get("checkpoint_ns") or "")


def _unknown(drive: Drive, path: str) -> PlaitError:
    return PlaitError(f"thread {drive.thread_id!r}: no part at {path!r} ran; see its result's steps")

"""Taking up a thread that failed, and telling whether its definition still is the one it ran."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core.errors import DefinitionChanged
from ..core.paths import definition_key, is_below
from ..core.records import ANEW, StepRecord
from ..core.usage import Usage
from .binding import Bound
from .definition import shape_key
from .flow import Flow

UNDONE = ("failed", "cancelled")


def rewound(values: Mapping[str, Any]) -> dict[str, Any]:
    """The update that lets what failed run again, with its limits renewed."""
    records = [StepRecord.from_plain(record) for record in values.get("steps", ())]
    spent = Usage.total(record.usage for record in records)
    turn = {**values["turn"], "started": time.time(), "floor": spent.to_plain()}
    taken = list(_taken_up(records))
    if not any(record.kind != "flow" for record in taken):
        # the flow failed, not a part of it: an unknown route, say; the part it names decides again
        place = (values.get("ended") or {}).get("path")
        taken += [record.rewound() for record in records if record.path == place and record.is_final]
    again = [record.to_plain() for record in taken]
    return {"steps": again, "turn": turn, "outcome": "", "ended": {}, "rewind": True}


def _taken_up(records: Sequence[StepRecord]) -> Iterator[StepRecord]:
    """The records of what runs again: what failed or was left out because of it, and what was told of
    a failure, with all below it; but nothing in a flow that has ended well, since that does not run."""
    ended = [r.path for r in records if r.kind == "flow" and r.status in ("done", "partial")]
    unsure = [r.path for r in records if r.metadata.get("unsure") and not _is_inside(r, ended)]
    for record in records:
        if not record.is_final or _is_inside(record, [path for path in ended if path not in unsure]):
            continue
        if any(is_below(record.path, path) for path in unsure) and record.status not in UNDONE:
            yield replace(record.rewound(), metadata={**record.metadata, ANEW: True})
        elif record.status in UNDONE or record.metadata.get("blocked"):
            yield record.rewound()


def _is_inside(record: StepRecord, flows: Iterable[str]) -> bool:
    return any(path != record.path and is_below(record.path, path) for path in flows)


def check_definition(bound: Bound, thread_id: str, state: Any, done: Sequence[StepRecord] = ()) -> None:
    """Raise DefinitionChanged when a part that ran, or has begun, is defined differently now.

    `state` is the thread's StateSnapshot with subgraphs, `done` what has finished in regions that have
    not. A part that failed may change: mending it is a reason to resume.
    """
    before: Mapping[str, str] = (state.values.get("turn") or {}).get("definition", {})
    flow, gone = bound.root, {*before.values()} - {*bound.hashes.values()}
    records = [*_ran_well(state.values), *(record for record in done if _is_well(record))]
    ran = dict.fromkeys([*(definition_key(r.path) for r in records), *_begun(flow, state, "")])
    changed = [path for path in ran if before.get(path) != bound.hashes.get(path)]
    changed += [p or flow.type for p in _under_way(flow, state, "") if _is_reshaped(p, before, bound)]
    if not state.tasks and not state.values.get("outcome") and state.values.get("turn"):
        changed.append(str(flow.id or flow.type))  # what was under way is not there any more
    # a step of a plan stands at no path of the definition, but its executor does
    changed += [r.path for r in records if definition_key(r.path) not in before and r.definition in gone]
    if changed:
        raise DefinitionChanged(thread_id, changed)


def _under_way(flow: Any, state: Any, path: str) -> Iterator[str]:
    """The flows that have begun and not ended."""
    for task in state.tasks:
        part = flow.parts.get(task.name) if isinstance(flow, Flow) else None
        if isinstance(part, Flow) and task.result is None:
            place = flow.place_of(task.name, path)
            yield place
            if hasattr(task.state, "tasks"):
                yield from _under_way(part, task.state, place)


def _is_reshaped(path: str, before: Mapping[str, str], bound: Bound) -> bool:
    """Whether parts that run side by side are others now, or in another order: their results are told
    apart by it."""
    return before.get(shape_key(path)) != bound.hashes.get(shape_key(path))


def _is_well(record: StepRecord) -> bool:
    return record.kind != "flow" and record.status not in (*UNDONE, "skipped", "rewound")


def _ran_well(values: Any) -> Iterator[StepRecord]:
    held = values.get("steps", ()) if isinstance(values, Mapping) else ()
    return filter(_is_well, map(StepRecord.from_plain, held))


def _begun(flow: Any, state: Any, path: str) -> Iterator[str]:
    """Parts that have a checkpoint of their own and no end yet, and what nested flows finished."""
    for task in state.tasks:
        inner = task.state
        if not hasattr(inner, "tasks"):
            continue
        if not isinstance(flow, Flow) or task.name not in flow.parts:
            yield from [path or task.name] if task.name not in ("_enter", "_exit") else []
            continue
        part, place = flow.parts[task.name], flow.place_of(task.name, path)
        if isinstance(part, Flow):
            yield from (definition_key(record.path) for record in _ran_well(inner.values))
            yield from _begun(part, inner, place)
        else:
            yield place

"""What resuming a thread would do, said before it is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import ClassChanged, DefinitionChanged, NothingToResume
from ..core.ports import Question
from ..core.records import StepRecord
from .drive import Drive
from .flow import Flow
from .kept import check_values
from .rewind import UNDONE, check_definition


@dataclass(frozen=True, slots=True)
class InDoubt:
    """A tool call that was under way when the run stopped. One whose effect is `probe` is asked for by the
    tool itself; an `unsafe` one becomes a question."""

    path: str
    tool: str
    args: Mapping[str, Any]
    effect: str


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """What `resume` will do with a thread.

    `reused` are the paths whose results stand, `rerun` those of parts that run again or go on; a unit goes
    on with what it has said. `in_doubt` are calls whose effect may have happened, `questions` what has to
    be answered first, `incompatible` why the thread cannot be resumed at all.
    """

    thread_id: str
    reused: tuple[str, ...] = ()
    rerun: tuple[str, ...] = ()
    in_doubt: tuple[InDoubt, ...] = ()
    questions: tuple[Question, ...] = ()
    incompatible: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"thread {self.thread_id}"]
        for name in ("reused", "rerun", "incompatible"):
            lines += [f"  {name}: {item}" for item in getattr(self, name)]
        lines += [f"  in doubt: {call.path} {call.tool}({dict(call.args)!r})" for call in self.in_doubt]
        lines += [f"  question: {asked.path} {asked.question!r}" for asked in self.questions]
        return "\n".join(lines)


async def resume_plan(drive: Drive) -> ResumePlan:
    """The plan of a thread. Raises NothingToResume for one that has run nothing, or has ended well."""
    state = await drive.state(subgraphs=True)
    ended = state.values.get("outcome")
    is_lost = not ended and state.values.get("turn")  # of what was under way the definition has nothing left
    if not state.tasks and ended != "failed" and not is_lost:
        told = f"ended {ended!r}" if ended else "has not run anything yet"
        raise NothingToResume(f"thread {drive.thread_id!r} {told}")
    records = list(_records(state.values))
    failed = [r.path for r in records if r.kind != "flow" and r.status in UNDONE]
    reused = [r.path for r in records if r.kind != "flow" and r.status not in UNDONE]
    done = await drive.done_in_regions() if state.tasks else ()
    reused += [r.path for r in (*_inner_records(state), *done) if r.status not in (*UNDONE, "skipped")]
    begun = [path for path in _begun(drive.bound.root, state, "") if path not in failed]
    journal = drive.live.journal
    entries = await journal.entries(drive.thread_id) if journal is not None else {}
    begun_calls = [e.result for e in entries.values() if e.state in ("started", "cancelled")]
    turn = (state.values.get("turn") or {}).get("number")
    calls = [c for c in begun_calls if isinstance(c, Mapping) and "tool" in c and c.get("turn") in (0, turn)]
    return ResumePlan(
        drive.thread_id,
        tuple(dict.fromkeys(reused)),
        tuple(dict.fromkeys([*failed, *begun])),
        tuple(InDoubt(call["path"], call["tool"], call["args"], call["effect"]) for call in calls),
        await drive.asked_by(state),
        tuple(_incompatible(drive, state, done)),
    )


def _records(values: Any) -> Iterator[StepRecord]:
    held = values.get("steps", ()) if isinstance(values, Mapping) else ()
    found = (StepRecord.from_plain(plain) for plain in held)
    return (record for record in found if record.is_final and record.status != "skipped")


def _inner_records(state: Any) -> Iterator[StepRecord]:
    """What has finished in flows that have not."""
    for task in state.tasks:
        if hasattr(task.state, "tasks"):
            yield from (record for record in _records(task.state.values) if record.kind != "flow")
            yield from _inner_records(task.state)


def _begun(flow: Any, state: Any, path: str) -> Iterator[str]:
    """The parts that run again or go on: those that the graph would run next, as deep as it tells."""
    for task in state.tasks:
        if not isinstance(flow, Flow) or task.name not in flow.parts:
            continue
        part, place = flow.parts[task.name], flow.place_of(task.name, path)
        inner = list(_begun(part, task.state, place)) if hasattr(task.state, "tasks") else []
        if task.result is None or inner:
            yield from inner or [place]


def _incompatible(drive: Drive, state: Any, done: Sequence[StepRecord]) -> list[str]:
    told: list[str] = []
    try:
        check_values(drive.bound, state)
    except ClassChanged as error:
        told.append(str(error))
    try:
        check_definition(drive.bound, drive.thread_id, state, done)
    except DefinitionChanged as error:
        told += [f"{path} is defined differently now" for path in error.paths]
    return told

"""Crash sweeps: run once unbroken, then again and again, dying once at each boundary and going on."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from ..core.errors import PlaitError
from .client import Answer, Client, InDoubt, truthful, unanswered
from .effects import Happened, read_effects
from .forks import Ended, Tell, fork
from .life import KILLED, Life, begin
from .report import ONCE, CrashReport, Difference, Repeat, summed
from .seen import difference
from .subjects import Durability, Given, Subject, subject_of, tasks_of

DURABLE = "/dev/shm"
"""Files here outlive a process, which is all that a sweep kills, and cost no disk."""


class SweepError(PlaitError, AssertionError):
    """A sweep that cannot say anything, since what it runs does not end alike even unbroken."""


def crash_sweep(
    given: Given,
    task: Any = None,
    *,
    tasks: Sequence[Any] = (),
    context: Any = None,
    answer: Answer = unanswered,
    in_doubt: InDoubt = truthful,
    every: int = 1,
    processes: int = 2,
    timeout_s: float = 60.0,
    durability: Durability = "sync",
    may_fail: bool = False,
) -> CrashReport:
    """Kill a run at every boundary, go on with it in a new process, and compare the ends.

    `given` is a Workflow, any compiled LangGraph graph (`task` is then its input), or a function that
    makes either for a folder, where a file of its own may lie. Its saver, and its store if it has one,
    are replaced by fresh SQLite files. `tasks` are several turns on one thread.

    Boundaries are the moments before and after each write of checkpoints, pending writes and journal,
    each call of a model or tool, and each of a tool's `Effects`. After the crash a client goes on with the
    thread, answers in-doubt questions by `in_doubt` and others by `answer`, and sends what was not yet
    answered. `every=10` tries each tenth boundary. `durability` is for graphs; workflows have their own.

    Runs in forks of this process, which must have no other threads at work. Raises SweepError when two
    unbroken runs differ, or fail, unless they `may_fail`; DefinitionError for what cannot be swept.

    >>> from plait import Workflow, WorkflowUnit
    >>> from plait.testing import ScriptedModel, call, crash_sweep
    >>> model = ScriptedModel([call("resolve", value="Paid.")])
    >>> crash_sweep(Workflow(WorkflowUnit("clerk"), model=model), "Pay A7.", every=4).is_safe
    True
    """
    if not hasattr(os, "fork"):
        raise SweepError("a sweep needs os.fork, which this system has not; run it on Linux or macOS")
    folder = Path(tempfile.mkdtemp(prefix="plait-sweep-", dir=DURABLE if Path(DURABLE).is_dir() else None))
    try:
        client = Client(tasks_of(task, tasks), answer, in_doubt)
        sweep = _Sweep(given, client, context, durability, timeout_s, may_fail)
        return sweep.report(folder, every, processes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Whole:
    """An unbroken run: what was seen, its effects, and how many boundaries it passed."""

    seen: Any
    effects: tuple[Happened, ...]
    declared: dict[str, str]
    boundaries: int


@dataclass(frozen=True, slots=True)
class _Found:
    """What came of one crash."""

    point: int
    at: str
    differs: str | None = None
    repeats: tuple[Repeat, ...] = ()
    doubts: int = 0


@dataclass(frozen=True)
class _Sweep:
    given: Given
    client: Client
    context: Any
    durability: Durability
    timeout_s: float
    may_fail: bool = False

    def report(self, folder: Path, every: int, processes: int) -> CrashReport:
        """Sweep in `folder`, several boundaries at a time."""
        began = time.monotonic()
        whole = self.unbroken(folder / "whole")
        firsts = range(1, 1 + every * processes, every)
        shares = [range(first, whole.boundaries + 1, every * processes) for first in firsts]
        found = _shared(self, whole, shares, folder)
        return _reported(found, time.monotonic() - began)

    def unbroken(self, folder: Path) -> _Whole:
        """Run twice without a crash. Raises SweepError unless both end, and end alike."""
        subject = self.subject(folder)
        first, second = self._whole(subject, folder), self._whole(subject, folder)
        differs = difference(first.seen, second.seen) or _more(first, second) or _more(second, first)
        if differs:
            told = "two unbroken runs differ, so nothing can be said about broken ones: "
            raise SweepError(f"{told}{differs}")
        failed = [turn for turn in first.seen if turn["outcome"] == "failed"]
        if failed and not self.may_fail:
            told = "the unbroken run fails, so a sweep would say nothing of what it should do"
            raise SweepError(f"{told}: {failed[0]['message']} (may_fail=True sweeps it all the same)")
        return first

    def _whole(self, subject: Subject, folder: Path) -> _Whole:
        empty(folder)
        ended = self.life(subject, folder, str(uuid4()))
        if ended.status != 0:
            raise SweepError(f"the unbroken run did not end: {ended.error or ended.status}")
        said = ended.said
        effects = tuple(read_effects(folder / "effects.jsonl"))
        return _Whole(said["seen"], effects, said["declared"], said["boundaries"])

    def subject(self, folder: Path) -> Subject:
        folder.mkdir(parents=True, exist_ok=True)
        return subject_of(self.given, folder, self.context, self.durability)

    def life(self, subject: Subject, folder: Path, thread_id: str, kill_at: int | None = None) -> Ended:
        """One process that takes the thread on, until every task is answered or it dies."""

        def live(tell: Tell) -> None:
            living = Life(folder, thread_id, kill_at, lambda boundary: tell({"at": boundary}))
            begin(living)
            asyncio.run(subject.converse(self.client, living))
            seen = self.client.answered(living)
            tell(
                {
                    "seen": seen,
                    "declared": living.declared,
                    "boundaries": len(living.passed),
                    "doubts": living.doubts,
                }
            )

        return fork(live, folder / "printed.log").ended(self.timeout_s)

    def crashed(self, subject: Subject, folder: Path, whole: _Whole, point: int) -> _Found | None:
        """Die at one boundary and go on; None when it was not reached, as work side by side may vary."""
        empty(folder)
        thread_id = str(uuid4())
        killed = self.life(subject, folder, thread_id, point)
        if killed.status == 0:
            return None
        if killed.status != KILLED:
            return _Found(point, "nowhere", f"it failed before its boundary: {killed.error}")
        at = killed.said["at"]
        ended = self.life(subject, folder, thread_id)
        effects = tuple(read_effects(folder / "effects.jsonl"))
        if ended.status != 0:
            return _Found(point, at, f"going on failed: {ended.error}")
        now = _Whole(ended.said["seen"], effects, ended.said["declared"], 0)
        differs = difference(whole.seen, now.seen) or _more(whole, now)
        return _Found(point, at, differs, _repeats(whole, now, at), ended.said["doubts"])


def _more(whole: _Whole, now: _Whole) -> str | None:
    """An effect of `whole` that is missing in `now`."""
    missing = Counter(each.key for each in whole.effects) - Counter(each.key for each in now.effects)
    return next((f"effects: {key} did not happen" for key in missing), None)


def _repeats(whole: _Whole, now: _Whole, at: str) -> tuple[Repeat, ...]:
    tools = {each.key: each.tool for each in now.effects}
    extra = Counter(each.key for each in now.effects) - Counter(each.key for each in whole.effects)
    declared = {**whole.declared, **now.declared}
    return summed(Repeat(tools[key], declared.get(tools[key], "unsafe"), n, at) for key, n in extra.items())


def _shared(sweep: _Sweep, whole: _Whole, shares: Sequence[range], folder: Path) -> list[_Found]:
    """The crashes of all shares, each share in a process of its own."""
    started = []
    for number, share in enumerate(shares):
        place = folder / f"share-{number}"
        place.mkdir()
        started.append(fork(partial(_worked, sweep, whole, place, share), place / "log"))
    limit_s = 2 * sweep.timeout_s * (whole.boundaries + 1)
    ended = [each.ended(limit_s) for each in started]
    failed = next((each.error or each.status for each in ended if each.status != 0), None)
    if failed:
        raise SweepError(f"a sweeping process failed: {failed}")
    found = [_found(plain) for each in ended for plain in each.said]
    return sorted(found, key=lambda each: each.point)


def _worked(sweep: _Sweep, whole: _Whole, place: Path, points: Sequence[int], tell: Tell) -> None:
    subject = sweep.subject(place / "life")
    gc.collect()
    gc.freeze()  # what the forks share is not to be copied for the sake of its counts
    found = (sweep.crashed(subject, place / "life", whole, point) for point in points)
    tell([_plain(each) for each in found if each is not None])


def _plain(found: _Found) -> list[Any]:
    repeats = [[each.tool, each.effect, each.times, each.first_at] for each in found.repeats]
    return [found.point, found.at, found.differs, repeats, found.doubts]


def _found(plain: list[Any]) -> _Found:
    point, at, differs, repeats, doubts = plain
    return _Found(point, at, differs, tuple(Repeat(*each) for each in repeats), doubts)


def _reported(found: Sequence[_Found], seconds: float) -> CrashReport:
    repeats = summed(each for one in found for each in one.repeats)
    return CrashReport(
        points=len(found),
        differing=tuple(Difference(one.point, one.at, one.differs) for one in found if one.differs),
        repeated=tuple(sorted(repeats, key=lambda each: (each.effect not in ONCE, each.tool))),
        in_doubt=sum(one.doubts > 0 for one in found),
        seconds=seconds,
    )


def empty(folder: Path) -> None:
    """Leave nothing of an earlier life."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()

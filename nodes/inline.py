"""The calls of a reply without a task for each: one that pauses runs again as a task.

LangGraph keeps the results of tasks and gives each task the answers to its own questions. Where the journal
keeps results, a task is only needed for a call that asks something, and such a call starts again from its
first line anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt

from ..core.ports import JournalEntry
from .act import Calls
from .calls import Call
from .clashes import without_clashes
from .declared import effect_of
from .frame import Frame
from .invoke import CallResult
from .journal import CallJournal
from .tasks import pause
from .tools import UnitTool

Plain = dict[str, Any]
ROUND = "@"
"""What stands between a node's namespace and the number of a round in the journal's keys."""


@dataclass
class Round:
    """One round of a unit in the journal: the updates it made, and, while it is paused, what its calls
    came to by their place in the reply and which of them asked something. `opened`, of the first round,
    is where the unit stands and what it begins with."""

    journal: CallJournal | None
    key: str
    updates: list[Plain] = field(default_factory=list)
    results: dict[int, Any] = field(default_factory=dict)
    paused: list[int] = field(default_factory=list)
    is_done: bool = False
    opened: Plain | None = None

    @classmethod
    def read(cls, journal: CallJournal, key: str, entry: JournalEntry) -> Round:
        held = entry.result
        results = {int(place): plain for place, plain in held.get("results", {}).items()}
        paused, is_done = held.get("paused", []), entry.state == "done"
        return cls(journal, key, held["updates"], results, paused, is_done, held.get("opened"))

    @property
    def entry(self) -> JournalEntry:
        """The round as it stands."""
        held: Plain = {"updates": self.updates}
        if self.opened is not None:
            held["opened"] = self.opened
        if self.paused:
            # what ran as a task is a task again after a resume, so that those behind it keep their number
            own = {str(n): plain for n, plain in self.results.items() if n not in self.paused}
            held |= {"results": own, "paused": self.paused}
        return JournalEntry("done" if self.is_done else "started", "round", held)

    async def keep(self) -> None:
        """Write it down now. Of the calls of a round that is done no results are needed beside it."""
        if self.journal is None:
            return
        riders = self.journal.riders
        if self.is_done:
            own = {key: entry for key, entry in riders.items() if key.startswith(f"{self.key}#")}
            riders.update(
                (key, replace(entry, result=_without_call(entry.result))) for key, entry in own.items()
            )
        await self.journal.write({self.key: self.entry})

    def keep_with_next(self) -> None:
        """Write it down with the first call that is written down."""
        if self.journal is not None:
            self.journal.riders[self.key] = self.entry


class InlineCalls(Calls):
    """Runs the calls of one reply in place, all at once or in order."""

    round: Round

    def at(self, held: Round, journal: CallJournal | None) -> InlineCalls:
        """The same for one round, whose journal it uses."""
        self.round, self._journal = held, journal
        return self

    async def run(self, calls: Sequence[Call], tools: Mapping[str, UnitTool]) -> list[CallResult]:
        if self._role.unit.tool_execution == "sequential":
            return await self._one_by_one(calls, tools)
        await self._all(range(len(calls)), calls, tools)
        results = [self._result(number) for number in range(len(calls))]
        return results if len(results) < 2 else without_clashes(results, self._frame.snapshot.schema)

    async def _one_by_one(self, calls: Sequence[Call], tools: Mapping[str, UnitTool]) -> list[CallResult]:
        results: list[CallResult] = []
        for number in range(len(calls)):
            self._frame.run.check()
            await self._all([number], calls, tools)
            results.append(self._result(number))
            self._writes = [*self._writes, *results[-1].writes]
        return results

    def _result(self, number: int) -> CallResult:
        held = self.round.results[number]
        return held if isinstance(held, CallResult) else CallResult.from_plain(held, self._types)

    async def _all(
        self, numbers: Sequence[int], calls: Sequence[Call], tools: Mapping[str, UnitTool]
    ) -> None:
        held = self.round
        flows = [n for n in numbers if effect_of(tools[calls[n].name].tool) == "flow"]
        held.paused = sorted({*held.paused, *flows})  # what goes on by itself goes on in its own task
        fresh = [n for n in numbers if n not in held.results and n not in held.paused]
        ended = await self._ended([self._one(n, calls[n], tools[calls[n].name]) for n in fresh])
        asked = [n for n, result in zip(fresh, ended, strict=True) if isinstance(result, GraphInterrupt)]
        held.results.update((n, r) for n, r in zip(fresh, ended, strict=True) if n not in asked)
        held.paused = sorted([*held.paused, *asked])
        waiting = [n for n in numbers if n in held.paused and n not in held.results]
        if waiting:
            held.results = {n: _plain(result) for n, result in held.results.items()}
            await held.keep()
            tasks = [self._task(n, calls[n], tools) for n in waiting]
            finished = await self._ended(tasks)
            pauses = [result for result in finished if isinstance(result, GraphInterrupt)]
            if pauses:
                raise pause(pauses if in_root(self._frame) else [])
            held.results.update(zip(waiting, finished, strict=True))

    async def _ended(self, waiting: Sequence[Awaitable[Any]]) -> list[Any]:
        """What each came to, pauses included. Raises what is no pause once all have ended."""
        if len(waiting) == 1:
            try:
                return [await self._stopping(waiting[0])]
            except GraphInterrupt as asked:
                return [asked]
        ended = await self._stopping(asyncio.gather(*waiting, return_exceptions=True)) if waiting else []
        for result in ended:
            if isinstance(result, BaseException) and not isinstance(result, GraphInterrupt):
                raise result
        return list(ended)


def made(held: Round, journal: CallJournal | None, *given: Any) -> InlineCalls:
    """Runs the calls of `held`, whose results `journal` keeps."""
    return InlineCalls(*given).at(held, journal)


def _without_call(held: Any) -> Plain | None:
    """What an entry holds beside the call's result."""
    return {name: value for name, value in (held or {}).items() if name != "call"} or None


def _plain(result: Any) -> Plain:
    plain: Plain = result.to_plain() if isinstance(result, CallResult) else result
    return plain


def in_root(frame: Frame) -> bool:
    """Whether what runs here are tasks of the root graph itself."""
    return frame.in_root or "|" not in get_config().get("configurable", {}).get("checkpoint_ns", "")

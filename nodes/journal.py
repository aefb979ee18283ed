"""The journal of tool calls: what may not happen twice is written down before it begins.

A call that was under way when a run stopped is settled by the effect that its tool declares: the tool is
asked (`probe`), or a person is (`unsafe`). A call that is done gives what it gave.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from langchain_core.runnables import RunnableConfig

# as in nodes.userconfig: LangGraph has no public names for these; a test pins them
from langgraph._internal._constants import (
    CONF,
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_DURABILITY,
    CONFIG_KEY_RESUMING,
)
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.store.base import BaseStore
from langgraph.types import interrupt

from ..core.errors import DurabilityWarning, RunError
from ..core.ports import Journal, JournalEntry, JournalState, Live
from .declared import PROBE, Effect, effect_of
from .doubt import HAPPENED, IN_DOUBT, SKIP, Settled, answers_so_far, doubt_of, probed, word_on
from .store_journal import StoreJournal
from .tools import UnitTool

KEPT: tuple[Effect, ...] = ("probe", "unsafe")
"""The effects whose calls are written down; the others may simply run again."""

NOT_SYNC = (
    "tool {!r} has an effect that may not happen twice, and the graph runs without durability='sync': after "
    "a crash the call's place in the run can be lost, and with it what the journal knows"
)

SOON_S = 0.002
"""How long the entry of a call that is done may wait for another to be written with."""

Plain = dict[str, Any]


def is_lasting(saver: Any) -> bool:
    """Whether a saver's threads outlive the process."""
    return isinstance(saver, BaseCheckpointSaver) and not isinstance(saver, InMemorySaver)


@dataclass(frozen=True)
class CallJournal:
    """The journal as one node sees it: `namespace` is the node's, `resuming` whether it may hold anything.

    `riders` are entries that are written with the next one. Where calls are `gathered`, those that are done
    ride too, for a moment at most: a crash in that moment leaves them in doubt. Where the node runs in
    `rounds`, each once the one before is in a checkpoint, a round's entries take the place of the former's.
    """

    journal: Journal
    thread_id: str
    namespace: str
    resuming: bool
    riders: dict[str, JournalEntry] = field(default_factory=dict)
    shares_questions: bool = False
    is_sync: bool = True
    gathered: bool = False
    rounds: bool = False
    turn: int = 0
    late: set[asyncio.Task[None]] = field(default_factory=set)

    @classmethod
    def of(cls, live: Live, store: BaseStore | None, config: RunnableConfig) -> CallJournal | None:
        """The run's journal, else one over the store; None where nothing outlives the run."""
        conf = config.get(CONF, {})
        if not conf.get(CONFIG_KEY_CHECKPOINTER):
            return None
        journal = live.journal or (StoreJournal(store) if store is not None else None)
        if journal is None:
            return None
        thread, namespace = str(conf.get("thread_id") or ""), str(conf.get(CONFIG_KEY_CHECKPOINT_NS) or "")
        is_sync = conf.get(CONFIG_KEY_DURABILITY) == "sync" or not is_lasting(conf[CONFIG_KEY_CHECKPOINTER])
        resuming = bool(conf.get(CONFIG_KEY_RESUMING))
        return cls(journal, thread, namespace, resuming, is_sync=is_sync)

    def below(self, namespace: str) -> CallJournal:
        """The same under another namespace."""
        return replace(self, namespace=namespace)

    async def write(self, entries: Mapping[str, JournalEntry]) -> None:
        """Write them, and what waits for that."""
        written = {**self.riders, **entries}
        self.riders.clear()
        await self.journal.write(self.thread_id, written)

    async def write_soon(self, entries: Mapping[str, JournalEntry]) -> None:
        """Write them with the next entry, or in a moment, where calls are gathered; else now."""
        if not self.gathered:
            return await self.write(entries)
        self.riders.update(entries)
        asyncio.get_running_loop().call_later(SOON_S, self._write_late)

    def _write_late(self) -> None:
        if self.riders:
            task = asyncio.ensure_future(self._write_riders())
            self.late.add(task)
            task.add_done_callback(self.late.discard)

    async def _write_riders(self) -> None:
        written = dict(self.riders)
        try:
            await self.write({})
        except Exception:  # the next write is told of what ails the store
            for key, entry in written.items():
                self.riders.setdefault(key, entry)

    async def settle(self) -> None:
        """Write what still waits."""
        if self.riders:
            await self._write_riders()
        if self.late:
            await asyncio.wait(self.late)

    def in_rounds(self, turn: int) -> CallJournal:
        """The same for a node that runs in rounds, in some turn of the thread."""
        return replace(self, rounds=True, turn=turn)

    def looking_back(self) -> CallJournal:
        """The same for a node whose calls share LangGraph's count of questions, and may be called anew."""
        return replace(self, resuming=True, shares_questions=True)

    def page(
        self, ordinal: int | str, tool: UnitTool, args: Mapping[str, Any], default: Effect
    ) -> Page | None:
        """Where the call with this ordinal is kept; None when its effect need not be."""
        effect = effect_of(tool.tool, default)
        if effect not in KEPT:
            return None
        if not self.is_sync:
            warnings.warn(NOT_SYNC.format(tool.name), DurabilityWarning, stacklevel=2)
        tie = digest(tool.name, args)
        if self.rounds:
            place, _, round_id = self.namespace.rpartition(":")
            return Page(self, f"{place}#{ordinal}", f"{tie}@{round_id}", tool, dict(args), effect)
        return Page(self, f"{self.namespace}#{ordinal}", tie, tool, dict(args), effect)


@dataclass(frozen=True)
class Page:
    """One call in the journal. `about` is what else is noted of it, such as what a person decided."""

    journal: CallJournal
    key: str
    digest: str
    tool: UnitTool
    args: Plain
    effect: Effect
    about: Plain = field(default_factory=dict)

    async def begun(self) -> Plain | None:
        """What was noted of the call that began at this place, whatever its arguments; None when none has,
        or only to ask."""
        entry = await self._entry_of_round()
        held = (entry.result or {}) if entry is not None else {}
        is_paused = entry is not None and entry.state == "paused" and not held.get("doubted")
        return None if entry is None or is_paused else held

    async def once(
        self,
        run: Callable[[], Awaitable[Plain]],
        settle: Callable[[Settled], Plain],
        place: Plain,
        order: AbstractAsyncContextManager[Any] | None = None,
    ) -> Plain:
        """What the call came to: from the journal, from what is found out about it, or from `run`.

        `settle` makes a result of what was found out; `place` is what a question says of where it stands;
        in `order` calls whose questions are told apart by their order look one after the other.
        """
        async with order or nullcontext():
            known, doubt = await self._known(settle, place)
        return known if known is not None else await self._run(run, place, doubt)

    async def _known(self, settle: Callable[[Settled], Plain], place: Plain) -> tuple[Plain | None, Plain]:
        """The result that need not be made, and what is noted of a person's having been asked."""
        entry = await self._read()
        if entry is None:
            return None, {}
        held = entry.result or {}
        doubt = {name: held[name] for name in ("doubted", "answers") if held.get(name)}
        if entry.state == "done":
            if doubt and self.journal.shares_questions:
                interrupt(self._question("started", place))  # has its answer; the next question is another
            return held["call"], doubt
        if doubt or entry.state in ("started", "cancelled"):
            found, doubt = await self._found_out(entry, held, place)
            if found is not None:
                return await self._done(settle(found), place, doubt), doubt
        return None, doubt

    def _note(self, place: Plain, doubt: Plain) -> Plain:
        """What is written of a call while it is not done."""
        call = {"tool": self.tool.name, "args": self.args, "effect": self.effect, "turn": self.journal.turn}
        return {**call, **place, **self.about, **doubt}

    async def _run(self, run: Callable[[], Awaitable[Plain]], place: Plain, doubt: Plain) -> Plain:
        note = self._note(place, doubt)
        await self._write("started", note)
        try:
            result = await run()
        except GraphBubbleUp:
            await self._write("paused", note)
            raise
        except asyncio.CancelledError:
            if not self.tool.is_sync:
                await asyncio.shield(self._write("cancelled", note))
            raise
        if result.pop("unsettled", False):
            return result  # its thread still runs, so what it does is not known
        return await self._done({**result, **({"rerun": True} if doubt else {})}, place, doubt)

    async def _done(self, result: Plain, place: Plain, doubt: Plain) -> Plain:
        told = self._note(place, doubt) if self.about else doubt
        done = self._entry("done", {"call": result, **told})
        await self.journal.write_soon({self.key: done})
        return result

    async def _found_out(
        self, entry: JournalEntry, held: Plain, place: Plain
    ) -> tuple[Settled | None, Plain]:
        """What became of a call that was under way, and what is noted of a person's having been asked;
        None is to run it."""
        probe, failed = (self.tool.tool.metadata or {}).get(PROBE), ""
        if probe is not None:
            try:
                value = await probed(probe, self.args)
            except Exception as error:  # the tool cannot tell, so a person is asked
                failed = f" (its probe raised {type(error).__name__}: {error})"
            else:
                return (None if value is None else Settled(value)), {}
        answers = await self._answers_before(entry, held)
        value = word_on(self._question(entry.state, place, failed), answers)
        doubt = {"doubted": True, "answers": answers}
        if value == SKIP:
            return Settled(skipped=True), doubt
        if isinstance(value, Mapping):
            return Settled(value[HAPPENED]), doubt
        return None, doubt

    async def _answers_before(self, entry: JournalEntry, held: Plain) -> int:
        """How many answers the call's task had when the doubt was first met: those are no word on it."""
        is_asked = held.get("asking") or entry.state not in ("started", "cancelled")
        if is_asked or self.journal.shares_questions:
            return int(held.get("answers", 0))
        answers = answers_so_far()
        await self._write(entry.state, {**held, "asking": True, "answers": answers})
        return answers

    def _question(self, state: JournalState, place: Plain, failed: str = "") -> Plain:
        return {**place, "type": IN_DOUBT, "question": doubt_of(self.tool.name, self.args, state, failed)}

    async def _read(self) -> JournalEntry | None:
        entry = await self._entry_of_round()
        if entry is not None and entry.digest != self.digest:
            told = f"the journal holds another call than {self.tool.name} at this place; start a new turn"
            raise RunError(told, reason="store")
        return entry

    async def _entry_of_round(self) -> JournalEntry | None:
        if not self.journal.resuming:
            return None  # nothing can be held under a namespace that is new
        found = await self.journal.journal.read(self.journal.thread_id, [self.key])
        entry = found.get(self.key)
        if entry is not None and self.journal.rounds and not is_of_round(entry, self.journal.namespace):
            return None
        return entry

    async def _write(self, state: JournalState, result: Any = None) -> None:
        await self.journal.write({self.key: self._entry(state, result)})

    def _entry(self, state: JournalState, result: Any) -> JournalEntry:
        return JournalEntry(state, self.digest, result)


async def of_round(journal: Journal, thread_id: str, namespace: str, count: int) -> list[JournalEntry]:
    """The entries of the first `count` calls of a node that ran in rounds, those of this round only."""
    place = namespace.rpartition(":")[0]
    found = await journal.read(thread_id, [f"{place}#{number}" for number in range(count)])
    return [entry for entry in found.values() if is_of_round(entry, namespace)]


def is_of_round(entry: JournalEntry, namespace: str) -> bool:
    """Whether an entry is of the round that the node at `namespace` is, and not of one before it."""
    return entry.digest.rpartition("@")[2] == namespace.rpartition(":")[2]


def digest(name: str, args: Mapping[str, Any]) -> str:
    """What ties an entry to its tool and arguments."""
    told = json.dumps([name, args], sort_keys=True, ensure_ascii=False, default=repr)
    return sha256(told.encode("utf-8", "replace")).hexdigest()[:32]

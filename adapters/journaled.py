"""`journaled`: the journal for a ToolNode of any LangGraph graph."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from copy import copy
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.runtime import get_runtime
from langgraph.types import Command

from ..core.errors import DefinitionError, PlaitError
from ..core.ports import Journal, JournalEntry, Live
from ..nodes.declared import Effect
from ..nodes.doubt import SKIPPED, Settled
from ..nodes.journal import CallJournal, Page, digest
from ..nodes.tools import UnitTool, as_tool, injection_of
from .journals import postgres_journal, sqlite_journal
from .stores import sqlite_path

Turn = AbstractAsyncContextManager[Any]
MARK = "__plait_journaled__"


def journaled(
    tools: Sequence[Any], *, journal: str | Journal | None = None, default_effect: Effect = "unsafe"
) -> list[BaseTool]:
    """The same tools, whose effects a crash does not repeat: `ToolNode(journaled(tools))`.

    A call is written down before it begins and once it is done. When the graph is resumed, a call that is
    done gives what it gave. One that was under way is settled by the effect its tool declares with
    `plait.tool(effect=…, probe=…)`: it runs again, or the tool is asked, or, where nothing is declared, the
    graph pauses with the question whether it happened; resume it with `Command(resume=answer)`, where the
    answer is `"run_again"`, `"skip"` or `{"happened": what it gave}`.

    `journal` is `"sqlite:///FILE"`, `"postgresql://…"` or a Journal; without one the journal is in the
    graph's store. The graph needs a checkpointer, and `durability="sync"` to lose nothing else.
    Raises DefinitionError for a journal or tools that cannot be, and PlaitError at the first call where
    there is no journal.
    """
    kept, order = _journal(journal), _Order()
    if isinstance(tools, BaseTool) or not isinstance(tools, Iterable):
        raise DefinitionError(f"journaled() takes a list of tools; give journaled([{_name(tools)}])")
    made = [as_tool(tool) for tool in tools]
    if twice := [tool.name for tool in made if hasattr(tool, MARK)]:
        raise DefinitionError(f"{', '.join(twice)}: journaled already; one journal is enough")
    return [_journaled(tool, kept, order, default_effect) for tool in made]


def _name(given: Any) -> str:
    return str(getattr(given, "name", None) or getattr(given, "__name__", None) or repr(given))


def _journal(given: str | Journal | None) -> Journal | None:
    if not isinstance(given, str):
        return given
    path = sqlite_path(given)
    if path is not None:
        return _OpenedEachTime(lambda: sqlite_journal(path))
    if given.startswith(("postgresql://", "postgres://")):
        return _OpenedEachTime(lambda: postgres_journal(given))
    raise DefinitionError(f"journal={given!r}: give 'sqlite:///FILE', 'postgresql://…' or a Journal")


class _OpenedEachTime:
    """A journal that is opened for each use, since nobody says when the graph is done with it."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Journal]]) -> None:
        self._opened = opened

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        async with self._opened() as journal:
            return await journal.read(thread_id, keys)

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        async with self._opened() as journal:
            await journal.write(thread_id, entries)

    async def entries(self, thread_id: str) -> Mapping[str, JournalEntry]:
        async with self._opened() as journal:
            return await journal.entries(thread_id)

    async def forget(self, thread_id: str) -> None:
        async with self._opened() as journal:
            await journal.forget(thread_id)


class _Order:
    """Lets the calls of one node look into the journal one after the other, in the order of the reply:
    LangGraph tells their questions apart by their order."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self._running: dict[str, set[asyncio.Future[None]]] = {}
        self._pausing: dict[str, list[asyncio.Future[None]]] = {}
        self.of_threads = Lock()

    async def run(self, node: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """What a call of the node gives, which is under way meanwhile."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running.setdefault(node, set()).add(ended)
        try:
            return await work()
        finally:
            ended.set_result(None)
            self._running[node].discard(ended)
            if not self._running[node]:
                del self._running[node]

    async def settled(self, node: str) -> None:
        """Wait until no call of the node is under way: a pause would leave it behind, to end unseen. Of
        several that pause the first leaves first."""
        line, own = self._pausing.setdefault(node, []), asyncio.get_running_loop().create_future()
        before = [*line]
        line.append(own)
        try:
            await asyncio.sleep(0)  # those beside this one may not have begun
            while running := self._running.get(node):
                await asyncio.wait(running)
            if before:
                await asyncio.wait(before)
        finally:
            own.set_result(None)
            line.remove(own)
            if not line:
                self._pausing.pop(node, None)

    @property
    def of_tasks(self) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class _Taken:
    """A thread's turn, which it took before it began and gives up when it has looked."""

    def __init__(self, lock: Lock) -> None:
        self._lock, self._is_held = lock, lock.acquire()

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None:
        self.give_up()

    def give_up(self) -> None:
        if self._is_held:
            self._is_held = False
            self._lock.release()


def _journaled(tool: BaseTool, journal: Journal | None, order: _Order, default: Effect) -> BaseTool:
    """A tool of the same class whose calls go through the journal."""
    plain, entry = tool, UnitTool(tool.name, tool.name, tool, injection_of(tool))

    async def ainvoke(self: BaseTool, input: Any, config: Any = None, **options: Any) -> Any:
        async def run() -> Any:
            return await plain.ainvoke(input, config, **options)

        page = _page(entry, journal, input, default)
        if page is None:
            return await run()
        node = page.journal.namespace
        try:
            return await order.run(node, lambda: _once(page, run, input, order.of_tasks))
        except GraphInterrupt:
            await order.settled(node)
            raise

    def invoke(self: BaseTool, input: Any, config: Any = None, **options: Any) -> Any:
        async def run() -> Any:
            return await asyncio.to_thread(plain.invoke, input, config, **options)

        page = _page(entry, journal, input, default)
        if page is None:
            return plain.invoke(input, config, **options)
        turn = _Taken(order.of_threads)
        try:
            return _waited_for(_once(page, run, input, turn))
        finally:
            turn.give_up()

    changed = copy(tool)
    methods = {"ainvoke": ainvoke, "invoke": invoke, MARK: True}
    object.__setattr__(changed, "__class__", type(f"Journaled{type(tool).__name__}", (type(tool),), methods))
    return changed


def _page(entry: UnitTool, journal: Journal | None, given: Any, default: Effect) -> Page | None:
    """Where a ToolNode's call is kept; None for one that comes from elsewhere, or need not be kept."""
    if not isinstance(given, Mapping) or given.get("type") != "tool_call":
        return None
    try:
        config, store = get_config(), get_runtime().store
    except RuntimeError:
        return None  # called outside a graph
    kept = CallJournal.of(Live(journal=journal), store, config)
    if kept is None:
        if not config.get("configurable", {}).get("__pregel_checkpointer"):
            return None
        raise PlaitError(
            f"journaled tool {entry.name!r}: there is no journal; give journaled(tools, journal=…) "
            f"a URL such as 'sqlite:///app.db', or compile the graph with a store"
        )
    args = {name: value for name, value in given["args"].items() if name not in entry.injection.names}
    ordinal = f"{given['id']}:{digest(entry.name, args)}"
    return kept.looking_back().page(ordinal, entry, args, default)


async def _once(page: Page, run: Callable[[], Awaitable[Any]], given: Any, turn: Turn) -> Any:
    call_id, name = given["id"], given["name"]

    async def plain() -> dict[str, Any]:
        result = await run()
        return (
            {"update": result.update, "goto": result.goto}
            if isinstance(result, Command)
            else {"said": result}
        )

    def settle(found: Settled) -> dict[str, Any]:
        text = SKIPPED if found.skipped else _text(found.value)
        status: Any = "error" if found.skipped else "success"
        return {"said": ToolMessage(text, tool_call_id=call_id, name=name, status=status)}

    result = await page.once(plain, settle, {"path": ""}, turn)
    return Command(update=result["update"], goto=result["goto"]) if "update" in result else result["said"]


def _waited_for(work: Coroutine[Any, Any, Any]) -> Any:
    """What `work` gives, awaited in a loop and a thread of its own, with the caller's context."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, work).result()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)

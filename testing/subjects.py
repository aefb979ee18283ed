"""What a crash sweep can run: a workflow, or any compiled LangGraph graph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command

from ..core.errors import DefinitionError, PlaitError, RunError
from ..graphs.result import RunResult
from ..workflow import Workflow
from .client import Client
from .life import Life, Watcher
from .seen import seen_of, seen_of_result

Durability = Literal["sync", "async", "exit"]


class Subject(Protocol):
    """Something with threads. `ready` comes first, in the warm process, `converse` in a life."""

    def ready(self, folder: Path) -> None:
        """Make everything that does not need a running loop."""

    async def converse(self, client: Client, living: Life) -> None:
        """Go on with the thread until every task is answered."""


@dataclass
class WorkflowSubject:
    """A workflow whose threads lie in a file of the sweep's folder."""

    given: Workflow
    context: Any = None

    def ready(self, folder: Path) -> None:
        store = self.given._options["store"]
        url = f"sqlite:///{folder}/threads.db"
        self.given = self.given.replace(checkpointer=url, store=None if store is None else url)
        _ = self.given.graph

    async def converse(self, client: Client, living: Life) -> None:
        async with self.given:
            known = await self._known(living)
            for number, task in enumerate(client.tasks):
                if number < len(client.answered(living)):
                    continue
                if known is None or not _took(known, client.tasks, number):
                    known = await self._run(_named(client.tasks, task, number), living)
                known = await self._finished(known, client, living)
                client.receive(living, seen_of_result(known))

    async def _known(self, living: Life) -> RunResult | None:
        try:
            return await self.given.thread(living.thread_id).result()
        except PlaitError:
            return None

    async def _run(self, task: Any, living: Life) -> RunResult:
        return await _result(self.given.run(task, thread_id=living.thread_id, **self._options(living)))

    def _options(self, living: Life) -> dict[str, Any]:
        return {"context": self.context, "config": {"callbacks": [Watcher(living)]}}

    async def _finished(self, known: RunResult, client: Client, living: Life) -> RunResult:
        """The result of a turn that may have been cut off, or that asks."""
        while known.outcome in ("cancelled", "paused"):
            answers = {each.id: client.reply(living, each.question) for each in known.interrupts}
            given = (answers,) if answers else ()
            known = await _result(self.given.resume(living.thread_id, *given, **self._options(living)))
        return known


async def _result(work: Any) -> RunResult:
    try:
        result: RunResult = await work
    except RunError as error:
        if error.result is None:
            raise
        result = error.result
    return result


def _named(tasks: Sequence[Any], task: Any, number: int) -> Any:
    """The task as its client sends it: one of several has an id, so that it can be looked for."""
    if len(tasks) == 1:
        return task
    if isinstance(task, list) and task and isinstance(task[-1], BaseMessage):
        return [*task[:-1], task[-1].model_copy(update={"id": f"task-{number}"})]
    return [HumanMessage(task, id=f"task-{number}")]


def _took(known: RunResult, tasks: Sequence[Any], number: int) -> bool:
    """Whether the thread has taken a task in, whatever became of it."""
    return len(tasks) == 1 or f"task-{number}" in [message.id for message in known.messages]


@dataclass
class GraphSubject:
    """A compiled graph with a saver, and a store if it has one, in a file of the sweep's folder."""

    given: Pregel[Any, Any, Any, Any]
    context: Any = None
    durability: Durability = "sync"

    def ready(self, folder: Path) -> None:
        self.path = str(folder / "threads.db")

    async def converse(self, client: Client, living: Life) -> None:
        config: RunnableConfig = {
            "configurable": {"thread_id": living.thread_id},
            "callbacks": [Watcher(living)],
        }
        async with self._opened() as graph:
            for number, task in enumerate(client.tasks):
                if number < len(client.answered(living)):
                    continue
                given = task if number >= await _taken(graph, config) else None
                client.receive(living, await self._turn(graph, config, given, client, living))

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Any]:
        from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

        from ..adapters.sqlite import sqlite_saver, sqlite_store

        serde = getattr(self.given.checkpointer, "serde", None) or JsonPlusSerializer()
        async with AsyncExitStack() as stack:
            changes: dict[str, Any] = {
                "checkpointer": await stack.enter_async_context(sqlite_saver(self.path, serde))
            }
            if self.given.store is not None:
                changes["store"] = await stack.enter_async_context(sqlite_store(self.path))
            yield self.given.copy(changes)

    async def _turn(self, graph: Any, config: Any, given: Any, client: Client, living: Life) -> Any:
        """Run a turn, or go on with it, until it has ended, and tell how."""
        options: dict[str, Any] = {"durability": self.durability, "context": self.context}
        while True:
            state = await graph.aget_state(config)
            if given is None and state.interrupts:
                given = Command(
                    resume={each.id: client.reply(living, each.value) for each in state.interrupts}
                )
            if given is None and not state.tasks:
                return {"outcome": "done", "values": seen_of(state.values)}
            try:
                await graph.ainvoke(given, config, **options)
            except Exception as error:
                values = (await graph.aget_state(config)).values
                told = f"{type(error).__name__}: {error}"
                return {"outcome": "failed", "message": told, "values": seen_of(values)}
            given = None


async def _taken(graph: Any, config: RunnableConfig) -> int:
    """How many turns the thread has taken in."""
    return len([state async for state in graph.aget_state_history(config, filter={"source": "input"})])


Given = Workflow | Pregel[Any, Any, Any, Any] | Callable[[Path], Any]


def subject_of(given: Given, folder: Path, context: Any, durability: Durability) -> Subject:
    """`given`, or what it makes for a folder, ready to live there. Raises DefinitionError."""
    made = given(folder) if callable(given) and not isinstance(given, Workflow | Pregel) else given
    subject: Subject
    if isinstance(made, Workflow):
        subject = WorkflowSubject(made, context)
    elif isinstance(made, Pregel):
        subject = GraphSubject(made, context, durability)
    elif isinstance(made, StateGraph):
        raise DefinitionError("the graph is not compiled; give graph.compile()")
    else:
        told = f"{type(made).__name__} cannot be swept; give a Workflow, a compiled graph, or a function"
        raise DefinitionError(f"{told} that makes one for a folder")
    subject.ready(folder)
    return subject


def tasks_of(task: Any, tasks: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """The turns of a sweep. Raises DefinitionError unless either is given."""
    if (task is None) == (not tasks):
        raise DefinitionError("give a task, or the tasks of several turns: crash_sweep(workflow, 'Pay it.')")
    return [task] if task is not None else list(tasks)

"""Workflow: the composition root. It turns names into objects and runs a flow on threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig

from .adapters.models import resolve_model
from .adapters.stores import check_url
from .core.errors import DefinitionError
from .core.events import Event
from .core.ports import EMPTY_PLANE, Plane
from .core.roles import AdapterBinding, AdapterFn
from .core.usage import Limits
from .graphs.background import run_in_background
from .graphs.binding import Binding, Bound, bind
from .graphs.bus import MessageBus
from .graphs.compile import Graph, compile_root
from .graphs.drive import Drive
from .graphs.foreign import Enter, Leave, node_of
from .graphs.region import Scheduling
from .graphs.result import RunResult
from .graphs.roletable import WorkflowDefinition, role_table
from .graphs.run import Run
from .graphs.step import as_part
from .graphs.turns import UNSET
from .thread import Thread
from .workflow_engine import Engine


class Workflow:
    """Runs a flow: `Workflow(flow, model=…)`, then `await workflow.run("…", thread_id="…")`.

    `model` is a chat model or `"provider:model"`, short for `adapter=react_adapter(model=…)`, or a
    function of the Snapshot that chooses a chat model for each run, as from its `context`;
    `overrides` are adapters by unit id. `state` is a pydantic model, dataclass or TypedDict that
    types the shared state. `checkpointer` and `store` are `"memory"`, `"sqlite:///FILE"`,
    `"postgresql://…"`, or any saver or store; without a checkpointer threads live in memory.
    `limits` cover every unit; `max_concurrency` bounds the units and steps that run at a time in one
    run; `scheduling` is how flows with parallel parts are run where they do not say so themselves.

    The definition is checked at once: raises DefinitionError with every fault. A workflow may
    serve many threads at a time. It opens what it needs for each run; `async with workflow` keeps
    it open in between.
    """

    def __init__(
        self,
        flow: Any,
        *,
        model: Any = None,
        adapter: AdapterFn | None = None,
        overrides: Mapping[str, AdapterFn] | None = None,
        state: Any = None,
        context_schema: type | None = None,
        checkpointer: Any = None,
        store: Any = None,
        limits: Limits | None = None,
        max_concurrency: int | None = None,
        scheduling: Scheduling = "eager",
        plane: Plane = EMPTY_PLANE,
        name: str = "workflow",
    ) -> None:
        check_url(checkpointer, "checkpointer")
        check_url(store, "store")
        self._options = {
            "flow": flow,
            "model": model,
            "adapter": adapter,
            "overrides": overrides,
            "state": state,
            "context_schema": context_schema,
            "checkpointer": checkpointer,
            "store": store,
            "limits": limits,
            "max_concurrency": max_concurrency,
            "scheduling": scheduling,
            "plane": plane,
            "name": name,
        }
        adapters = AdapterBinding(adapter, overrides or {})
        binding = Binding(
            adapters, resolve_model(model), state, limits, resolve_model, scheduling, max_concurrency
        )
        self.bound: Bound = bind(as_part(flow), binding)
        self.name = name
        self.bus = MessageBus()
        self._context_schema = context_schema
        self._engine = Engine(self.bound, lambda: self.graph, self.bus, plane, checkpointer, store)

    @cached_property
    def graph(self) -> Graph:
        """The workflow as a `CompiledStateGraph` without a saver, for servers and other graphs."""
        return compile_root(self.bound, self._context_schema, self.name)

    def compile(self, **langgraph_options: Any) -> Graph:
        """The same graph compiled with LangGraph's options, such as `checkpointer=` or `store=`."""
        return compile_root(self.bound, self._context_schema, self.name, **langgraph_options)

    def as_node(self, enter: Enter, leave: Leave) -> Any:
        """A node function for any StateGraph: `leave(await graph.ainvoke(enter(state)))`."""
        return node_of(self.graph, enter, leave)

    def replace(self, **changes: Any) -> Workflow:
        """The same workflow with other options, such as another model in a test."""
        unknown = sorted(set(changes) - set(self._options))
        if unknown:
            raise DefinitionError(
                f"a workflow has no {', '.join(unknown)}; it has {', '.join(self._options)}"
            )
        return Workflow(**{**self._options, **changes})

    async def run(
        self,
        task: Any,
        *,
        thread_id: str | None = None,
        context: Any = None,
        config: RunnableConfig | None = None,
        state: Mapping[str, Any] | None = None,
        abandon: bool = False,
    ) -> RunResult:
        """Run one turn: `task` is text, content blocks, or messages; `state` sets shared keys.

        Returns on `done`, `partial`, `paused`. Raises RunError when the run failed (the error
        carries the result), ThreadPaused when the thread waits for answers, unless `abandon`,
        ClassChanged when a shared value of the thread cannot be read any more.
        """
        return await self._engine.turn(
            None, task, thread_id=thread_id, context=context, config=config, state=state, abandon=abandon
        )

    def run_sync(self, task: Any, **options: Any) -> RunResult:
        """`run` for callers that cannot await; works inside a running event loop too."""
        return run_in_background(self.run(task, **options))

    def start(self, task: Any, **options: Any) -> Run:
        """Start one turn on the running loop and return a handle on it; options as for `run`."""
        thread_id = options.pop("thread_id", None) or str(uuid4())
        run = Run(thread_id)
        return run.begin(self._engine.turn(run, task, thread_id=thread_id, **options))

    async def stream(
        self, task: Any, *, path: str | None = None, types: Collection[str] | None = None, **options: Any
    ) -> AsyncIterator[Event]:
        """Run one turn and yield its events, of one path or of some types only; options as for `run`.

        The last event is the run's `agent_end`, always yielded: its `outcome` says how it ended
        and its `result` is the RunResult, also of a failed run, which raises nothing here.
        Closing the stream early cancels the run.
        """
        run = self.start(task, **options)
        try:
            async for event in run.events(path=path, types=types):
                yield event
        finally:
            await run.cancel()

    async def batch(
        self,
        tasks: Sequence[Any],
        *,
        max_concurrency: int = 8,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Run each task on a thread of its own; results in the order of the tasks.

        With `return_exceptions` a failed run's RunError stands in its place, else the first one
        is raised once all have ended.
        """
        slots = asyncio.Semaphore(max_concurrency)

        async def one(task: Any) -> RunResult:
            async with slots:
                return await self.run(task, **options)

        async with self:
            ended = await asyncio.gather(*(one(task) for task in tasks), return_exceptions=True)
        if not return_exceptions:
            for result in ended:
                if isinstance(result, BaseException):
                    raise result
        return list(ended)

    async def resume(
        self,
        thread_id: str,
        answers: Any = UNSET,
        *,
        context: Any = None,
        config: RunnableConfig | None = None,
    ) -> RunResult:
        """Go on with a thread that paused, failed, was cancelled or crashed.

        A paused thread needs `answers`: a mapping from question ids, or the one answer itself.
        A failed unit runs again with its transcript and fresh limits. Raises NothingToResume,
        DefinitionChanged when parts that ran are defined differently now, ThreadPaused when
        answers are missing.
        """
        return await self._engine.resume(thread_id, answers, context=context, config=config)

    def resume_sync(self, thread_id: str, answers: Any = UNSET, **options: Any) -> RunResult:
        """`resume` for callers that cannot await."""
        return run_in_background(self.resume(thread_id, answers, **options))

    def thread(self, thread_id: str) -> Thread:
        """What is known of a thread, from any process that shares the checkpointer."""
        return Thread(self, thread_id)

    async def get_state(self, thread_id: str) -> Mapping[str, Any]:
        """The thread's shared state."""
        return await self.thread(thread_id).state()

    async def get_messages(self, thread_id: str) -> Sequence[Any]:
        """The bus messages of the thread's last turn."""
        return (await self.thread(thread_id).result()).bus

    async def __aenter__(self) -> Workflow:
        await self._engine.open()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self._engine.close()

    def __repr__(self) -> str:
        return f"Workflow({self.bound.flow!r})"

    @asynccontextmanager
    async def drive(
        self, thread_id: str | None, context: Any = None, config: RunnableConfig | None = None
    ) -> AsyncIterator[Drive]:
        """One thread, opened for reading or running. For the framework."""
        async with self._engine.drive(thread_id, context, config) as drive:
            yield drive


def create_workflow(
    definition: WorkflowDefinition, binding: AdapterBinding | AdapterFn, **options: Any
) -> Workflow:
    """A workflow over a role table, on the same engine; options are those of `Workflow`.

    `binding` says how each role is executed: one adapter for all, or overrides by role name.
    Raises DefinitionError with every fault of the table.
    """
    adapters = binding if isinstance(binding, AdapterBinding) else AdapterBinding(binding)
    return Workflow(role_table(definition), adapter=adapters.default, overrides=adapters.overrides, **options)


__all__ = ["RunResult", "Thread", "Workflow", "create_workflow"]

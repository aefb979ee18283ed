"""Workflow: the composition root. It turns names into objects and runs a flow on threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, Self, overload
from uuid import uuid4

from langchain_core.runnables import RunnableConfig

from .adapters.models import resolve_model
from .adapters.stores import check_url
from .core.display import Displayed
from .core.errors import DefinitionError
from .core.events import Event
from .core.part import Out, PartLike, T
from .core.ports import EMPTY_PLANE, Plane
from .core.roles import AdapterBinding, AdapterFn
from .core.usage import Limits
from .graphs.background import run_in_background
from .graphs.binding import Binding, Bound, Granularity, bind
from .graphs.brake import Brake
from .graphs.bus import MessageBus
from .graphs.compile import Graph, compile_root, warn_without_journal
from .graphs.drive import Drive
from .graphs.eventbuffer import KEPT_EVENTS
from .graphs.foreign import Enter, Leave, node_of
from .graphs.region import Scheduling
from .graphs.result import RunResult
from .graphs.results import Results
from .graphs.roletable import WorkflowDefinition, role_table
from .graphs.run import Run
from .graphs.step import as_part
from .graphs.turns import UNSET
from .nodes.declared import Effect
from .thread import Thread
from .workflow_engine import Engine
from .workflow_messages import Messages
from .workflow_written import Written


class Workflow(Messages, Written, Displayed, Generic[Out]):
    """Runs a flow: `Workflow(flow, model=…)`, then `await workflow.run("…", thread_id="…")`.

    `model` is a chat model or `"provider:model"`, short for `adapter=react_adapter(model=…)`, or a
    function of the Snapshot that chooses a chat model for each run, as from its `context`;
    `overrides` are adapters by unit id. `state` is a pydantic model, dataclass or TypedDict that
    types the shared state. `checkpointer` and `store` are `"memory"`, `"sqlite:///FILE"`,
    `"postgresql://…"`, or any saver or store; without a checkpointer threads live in memory.
    `encryption_key` (16, 24 or 32 bytes, a function from thread id to them, or `"env:NAME"` for a
    variable that holds base64; extra `encryption`) encrypts what threads keep: see `adapters.encryption`.
    `limits` cover every unit; `max_concurrency` bounds the units and steps that run at a time in one
    run; `scheduling` is how flows with parallel parts are run where they do not say so themselves;
    `default_effect` is what tools are taken for that declare no effect (see `plait.tool`).
    `granularity="unit"` runs a unit's loop in one step: faster, as safe (a journal keeps each round),
    but not to be looked into or edited between rounds.

    The definition is checked at once: raises DefinitionError with every fault. A workflow may
    serve many threads at a time. It opens what it needs for each run; `async with workflow` keeps
    it open in between.
    """

    _display: ClassVar[str] = "drawing:workflow_bundle"

    def __init__(
        self,
        flow: PartLike[Out],
        *,
        model: Any = None,
        adapter: AdapterFn | None = None,
        overrides: Mapping[str, AdapterFn] | None = None,
        state: Any = None,
        context_schema: type | None = None,
        checkpointer: Any = None,
        store: Any = None,
        encryption_key: Any = None,
        limits: Limits | None = None,
        max_concurrency: int | None = None,
        scheduling: Scheduling = "eager",
        default_effect: Effect = "unsafe",
        granularity: Granularity = "round",
        plane: Plane = EMPTY_PLANE,
        name: str = "workflow",
    ) -> None:
        self._options = {given: value for given, value in locals().items() if given != "self"}
        check_url(checkpointer, "checkpointer")
        check_url(store, "store")
        adapters = AdapterBinding(adapter, overrides or {})
        binding = Binding(
            adapters,
            resolve_model(model),
            state,
            limits,
            resolve_model,
            scheduling,
            max_concurrency,
            default_effect,
            granularity,
        )
        self.bound: Bound = bind(as_part(flow), binding)
        self.name = name
        self.bus = MessageBus()
        self._context_schema = context_schema
        self._engine = Engine(
            self.bound, lambda: self.graph, self.bus, plane, checkpointer, store, encryption_key
        )

    @cached_property
    def graph(self) -> Graph:
        """The workflow as a `CompiledStateGraph` without a saver, for servers and other graphs."""
        return compile_root(self.bound, self._context_schema, self.name)

    def compile(self, **langgraph_options: Any) -> Graph:
        """The same graph compiled with LangGraph's options, such as `checkpointer=` or `store=`.

        Warns (DurabilityWarning) of a lasting checkpointer without a store: there is no journal then.
        """
        warn_without_journal(self.bound, langgraph_options)
        return compile_root(self.bound, self._context_schema, self.name, **langgraph_options)

    def as_node(self, enter: Enter, leave: Leave) -> Any:
        """A node function for any StateGraph: `leave(await graph.ainvoke(enter(state)))`."""
        return node_of(self.graph, enter, leave)

    @overload
    def replace(self, *, flow: PartLike[T], **changes: Any) -> Workflow[T]: ...
    @overload
    def replace(self, **changes: Any) -> Workflow[Out]: ...
    def replace(self, **changes: Any) -> Workflow[Any]:
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
        queue: bool = False,
    ) -> RunResult[Out]:
        """Run one turn: `task` is text, content blocks, or messages; `state` sets shared keys.

        Returns on `done`, `partial`, `paused`. Raises RunError when the run failed (the error
        carries the result), ThreadPaused when the thread waits for answers, unless `abandon`,
        ThreadBusy while another run is under way on the thread, in whatever process: with `queue`
        this one waits until it has ended. ClassChanged when a shared value of the thread cannot be
        read any more.
        """
        return await self._engine.turn(
            None,
            task,
            thread_id=thread_id,
            context=context,
            config=config,
            state=state,
            abandon=abandon,
            queue=queue,
        )

    def run_sync(self, task: Any, **options: Any) -> RunResult[Out]:
        """`run` for callers that cannot await; works inside a running event loop too.

        The first Ctrl-C or SIGTERM lets what is under way end and leaves the thread resumable, the
        second cancels; then the signal takes its usual effect.
        """
        brake = Brake()
        return run_in_background(self._engine.turn(None, task, brake=brake, **options), brake)

    def start(self, task: Any, *, keep_events: int = KEPT_EVENTS, **options: Any) -> Run[Out]:
        """Start one turn on the running loop and return a handle on it; options as for `run`.

        `keep_events`: how many events the handle keeps for readers that come late or are slow.
        """
        thread_id = options.pop("thread_id", None) or str(uuid4())
        run = Run[Out](thread_id, self._engine.send, keep_events, self.bound.flow)
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

    @overload
    async def batch(
        self,
        tasks: Sequence[Any],
        *,
        max_concurrency: int = ...,
        return_exceptions: Literal[False] = ...,
        **options: Any,
    ) -> list[RunResult[Out]]: ...
    @overload
    async def batch(
        self, tasks: Sequence[Any], *, max_concurrency: int = ..., return_exceptions: bool, **options: Any
    ) -> list[RunResult[Out] | BaseException]: ...
    async def batch(
        self,
        tasks: Sequence[Any],
        *,
        max_concurrency: int = 8,
        return_exceptions: bool = False,
        **options: Any,
    ) -> Any:
        """Run each task on a thread of its own; results in the order of the tasks.

        With `return_exceptions` a failed run's RunError stands in its place, else the first one
        is raised once all have ended.
        """
        slots = asyncio.Semaphore(max_concurrency)

        async def one(task: Any) -> RunResult[Out]:
            async with slots:
                return await self.run(task, **options)

        async with self:
            ended = await asyncio.gather(*(one(task) for task in tasks), return_exceptions=True)
        if not return_exceptions:
            for result in ended:
                if isinstance(result, BaseException):
                    raise result
        return Results(ended)

    async def resume(
        self,
        thread_id: str,
        answers: Any = UNSET,
        *,
        context: Any = None,
        config: RunnableConfig | None = None,
        queue: bool = False,
    ) -> RunResult[Out]:
        """Go on with a thread that paused, failed, was cancelled or crashed.

        A paused thread needs `answers`: a mapping from question ids, or the one answer itself.
        A failed unit runs again with its transcript and fresh limits. Raises NothingToResume,
        DefinitionChanged when parts that ran are defined differently now, ThreadPaused when
        answers are missing, ThreadBusy while another run is under way on the thread, in whatever
        process: with `queue` this one waits until it has ended.
        """
        return await self._engine.resume(thread_id, answers, context=context, config=config, queue=queue)

    def resume_sync(self, thread_id: str, answers: Any = UNSET, **options: Any) -> RunResult[Out]:
        """`resume` for callers that cannot await; signals are taken as by `run_sync`."""
        brake = Brake()
        return run_in_background(self._engine.resume(thread_id, answers, brake=brake, **options), brake)

    def thread(self, thread_id: str) -> Thread[Out]:
        """What is known of a thread, from any process that shares the checkpointer."""
        return Thread(self, thread_id)

    async def get_state(self, thread_id: str) -> Mapping[str, Any]:
        """The thread's shared state."""
        return await self.thread(thread_id).state()

    async def get_messages(self, thread_id: str) -> Sequence[Any]:
        """The bus messages of the thread's last turn."""
        return (await self.thread(thread_id).result()).bus

    async def __aenter__(self) -> Self:
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

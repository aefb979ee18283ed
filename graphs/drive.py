"""One thread under way: the compiled graph with its saver, the config, and the live run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.constants import END, START
from langgraph.errors import GraphRecursionError

from ..core.bookkeeping import FLOW_SCOPE, Scopes
from ..core.errors import PlaitError, RunError
from ..core.plain import delta_from
from ..core.ports import EMPTY_PLANE, NO_LIVE, Emit, Live, Plane, Publish, Question
from ..core.state import SharedState
from ..core.usage import Usage
from ..nodes.frame import RunScope, current_run
from .binding import Bound
from .compile import ENTER, Graph
from .result import CHANNELS, RunResult, questions_from, result_from, unsaved
from .root import RootPlace, global_values

SCOPES = ("workflow", "session", "global")
"""The scopes of the shared state that a thread can be asked for, beside a unit's own."""

SUPERSTEPS = 10_000
"""Supersteps of the root; flows have bounds of their own, so this is a last resort."""


@dataclass
class Drive:
    """Runs and reads one thread. Lives as long as its saver is open."""

    bound: Bound
    graph: Graph
    thread_id: str
    is_new: bool = False
    context: Any = None
    config: RunnableConfig = field(default_factory=RunnableConfig)
    plane: Plane = EMPTY_PLANE
    publishers: Sequence[Publish] = ()
    listeners: list[Emit] = field(default_factory=list)
    live: Live = NO_LIVE

    @property
    def full_config(self) -> RunnableConfig:
        """The caller's config with the thread and a bound on supersteps."""
        configurable = {**self.config.get("configurable", {}), "thread_id": self.thread_id}
        return {"recursion_limit": SUPERSTEPS, **self.config, "configurable": configurable}

    async def run(self, given: Any, *, resumed: bool = False) -> RunResult:
        """Invoke the graph and read the result. Raises RunError when the run failed."""
        scope = RunScope(
            str(self.config.get("run_id") or uuid4()),
            self.listeners,
            self.publishers,
            self.plane,
            self.live,
            resumed,
        )
        started, outcome, told, result = time.time(), "failed", None, None
        scope.emit("agent_start", "", resumed=resumed)
        try:
            result = await self._invoked(given, scope, started)
            outcome, told = result.outcome, result.message or None
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except RunError as error:
            result, told = error.result, str(error)
            raise
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
            raise
        finally:
            scope.emit(
                "agent_end",
                "",
                outcome=outcome,
                error=told,
                result=result,
                is_error=outcome == "failed",
                reason=result.reason if result else None,
            )
        if result.outcome == "failed":
            raise result.error()
        return result

    async def _invoked(self, given: Any, scope: RunScope, started: float) -> RunResult:
        token = current_run.set(scope)
        durability: dict[str, Any] = {"durability": "sync"} if self.graph.checkpointer else {}
        try:
            values = await self.graph.ainvoke(
                given, self.full_config, context=self.context, output_keys=CHANNELS, **durability
            )
        except GraphRecursionError as error:
            limit = self.full_config["recursion_limit"]
            raise RunError(f"limit recursion_limit={limit} is used up", reason="limit") from error
        except RunError as error:
            if error.reason == "store" and error.result is None:
                error.result = unsaved(scope.records.values(), error, self.thread_id, time.time() - started)
            raise
        finally:
            current_run.reset(token)
        interrupts = values.pop("__interrupt__", ())
        result = result_from(self.bound, values, interrupts, self.thread_id, time.time() - started)
        return _with_spending(result, values, scope) if result.outcome == "paused" else result

    async def state(self, *, subgraphs: bool = False) -> Any:
        return await self.graph.aget_state(self.full_config, subgraphs=subgraphs)

    async def settle(self) -> None:
        """Write the checkpoint that a crash kept from a superstep whose tasks are all done; run nothing."""
        await self.graph.aupdate_state(self.full_config, None, as_node=END)

    async def questions(self) -> list[Question]:
        return list(questions_from((await self.state()).interrupts))

    async def result(self) -> RunResult:
        """The last turn as its checkpoint tells it. Raises PlaitError for an unknown thread."""
        state = await self.state()
        if not state.values.get("turn"):
            raise PlaitError(f"there is no thread {self.thread_id!r}")
        values = dict(state.values)
        if any(task.name in (START, ENTER) for task in state.tasks):  # a turn that broke off before it began
            values |= {"steps": [], "bus": [], "outcome": "", "ended": {}}
        return result_from(self.bound, values, state.interrupts, self.thread_id)

    async def cancelled(self) -> RunResult:
        """What a run that was cancelled had done by then."""
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        try:
            return replace(await self.result(), outcome="cancelled")
        except PlaitError:
            return RunResult(self.thread_id, "cancelled")

    async def shared(self, scope: str) -> dict[str, Any]:
        """One scope of the shared state. Raises PlaitError for a scope that there is not."""
        if scope not in SCOPES and not scope.startswith(("unit:", FLOW_SCOPE)):
            raise PlaitError(
                f"there is no state scope {scope!r}; "
                f"there are {', '.join(SCOPES)}, 'unit:<path>' and 'flow:<path>'"
            )
        channels = (await self.state()).values
        done = delta_from({"steps": channels.get("steps", ())}, self.bound.schema.types)
        values = Scopes(RootPlace(self.bound.root, self.bound).values(channels), done.steps)
        if self.graph.store is not None:
            values["global"] = await global_values(self.graph.store)
        state = SharedState(values, schema=self.bound.schema, scope=scope, writable=False)
        return state.snapshot()

    async def history(self, limit: int | None) -> list[Any]:
        return [snapshot async for snapshot in self.graph.aget_state_history(self.full_config, limit=limit)]


def _with_spending(result: RunResult, values: Mapping[str, Any], scope: RunScope) -> RunResult:
    """A paused run's result with what its unfinished units have spent too."""
    floor = Usage.from_plain((values.get("turn") or {}).get("floor"))
    return result if scope.meter is None else replace(result, usage=floor + scope.meter.spent)

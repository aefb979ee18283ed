"""One thread under way: the compiled graph with its saver, the config, and the live run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.constants import END, START
from langgraph.errors import GraphDrained, GraphRecursionError
from langgraph.runtime import RunControl

from ..core.bookkeeping import FLOW_SCOPE, Scopes
from ..core.errors import PlaitError, RunError
from ..core.outcome import Outcome
from ..core.plain import delta_from
from ..core.ports import EMPTY_PLANE, NO_LIVE, Emit, Live, Plane, Publish, Question, Recorder
from ..core.records import StepRecord
from ..core.state import SharedState
from ..core.usage import Usage
from ..nodes.frame import RunScope, current_run
from ..nodes.inbox import undelivered
from .binding import Bound
from .brake import Brake
from .compile import Graph
from .doubted import calls_begun
from .regions_done import done_in_regions
from .result import CHANNELS, RunResult, questions_from, result_from, unsaved
from .root import ENTER, EXIT, RootPlace, global_values

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
    brake: Brake = field(default_factory=Brake)
    recorder: Recorder | None = None

    @property
    def full_config(self) -> RunnableConfig:
        """The caller's config with the thread and a bound on supersteps."""
        configurable = {**self.config.get("configurable", {}), "thread_id": self.thread_id}
        return {"recursion_limit": SUPERSTEPS, **self.config, "configurable": configurable}

    async def run(self, given: Any, *, resumed: bool = False) -> RunResult:
        """Invoke the graph and read the result. Raises RunError when the run failed, CancelledError when
        its task was cancelled by somebody else than its handle."""
        scope = RunScope(
            str(self.config.get("run_id") or uuid4()),
            self.listeners,
            self.publishers,
            self.plane,
            self.live,
            resumed,
            control=self.brake.control,
            recorder=self.recorder,
            task=_not_cancelled(asyncio.current_task()),
        )
        started, outcome, told, result = time.time(), "failed", None, None
        scope.emit("agent_start", "", resumed=resumed)
        try:
            result = await self._invoked(given, scope, started)
            outcome = result.outcome
            told = str(result.error()) if outcome == "failed" else result.message or None
        except asyncio.CancelledError:
            outcome = "cancelled"
            if not self.brake.is_cancelling:
                raise
            result = await self._cancelled(scope, started)
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
            scope.has_ended = True
        if result.outcome == "failed":
            raise result.error()
        return result

    async def _invoked(self, given: Any, scope: RunScope, started: float) -> RunResult:
        token = current_run.set(scope)
        durability: dict[str, Any] = {"durability": "sync"} if self.graph.checkpointer else {}
        try:
            values = await self.graph.ainvoke(
                given,
                self.full_config,
                context=self.context,
                output_keys=CHANNELS,
                control=self.brake.control,
                **durability,
            )
        except GraphDrained:
            if (await self.state()).next != (EXIT,):
                return await self._broken_off("paused", scope, started)
            self.brake.control = RunControl()
            return await self._invoked(None, scope, started)  # all is done but for the result
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
        result = replace(result, lingering=scope.threads.lingering())
        result = _with_spending(result, values, scope) if result.outcome == "paused" else result
        return await self._reported(result, values)

    async def state(self, *, subgraphs: bool = False) -> Any:
        return await self.graph.aget_state(self.full_config, subgraphs=subgraphs)

    async def settle(self) -> None:
        """Write the checkpoint that a crash kept from a superstep whose tasks are all done; run nothing."""
        await self.graph.aupdate_state(self.full_config, None, as_node=END)

    async def questions(self) -> list[Question]:
        return list(await self.asked_by(await self.state()))

    async def done_in_regions(self) -> tuple[StepRecord, ...]:
        """What has finished in regions that have not."""
        return await done_in_regions(self.bound, self.graph.checkpointer, self.thread_id)

    async def asked_by(self, state: Any) -> tuple[Question, ...]:
        """The open questions of a state of this thread."""
        return questions_from(state.interrupts, await calls_begun(self.live.journal, self.thread_id, state))

    async def result(self) -> RunResult:
        """The last turn as its checkpoint tells it. Raises PlaitError for an unknown thread."""
        state = await self.state()
        if not state.values.get("turn"):
            raise PlaitError(f"there is no thread {self.thread_id!r}")
        found = result_from(self.bound, _begun(state), state.interrupts, self.thread_id)
        found = replace(found, interrupts=await self.asked_by(state))
        return await self._reported(found, state.values)

    async def _reported(self, result: RunResult, values: Mapping[str, Any]) -> RunResult:
        """The result of a turn that has ended, with the messages that no unit was given."""
        if self.live.inbox is None or result.outcome in ("paused", "cancelled"):
            return result
        try:
            items = await self.live.inbox.items(self.thread_id)
        except Exception:  # the result is worth more than the report
            logging.getLogger("plait").exception("the inbox of thread %r could not be read", self.thread_id)
            return result
        return replace(result, undelivered=undelivered(items, values.get("delivered", ())))

    async def _cancelled(self, scope: RunScope, started: float) -> RunResult:
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        return await self._broken_off("cancelled", scope, started)

    async def _broken_off(self, outcome: Outcome, scope: RunScope, started: float) -> RunResult:
        """What a run that was cancelled or drained had done by then, and had spent."""
        state, told = await self.state(), "the run was asked to stop; resume goes on"
        if not state.values.get("turn"):
            return RunResult(self.thread_id, outcome, "interrupted", told)
        values = _begun(state)
        result = result_from(self.bound, values, state.interrupts, self.thread_id, time.time() - started)
        asked = await self.asked_by(state)
        result = replace(result, outcome=outcome, interrupts=asked, lingering=scope.threads.lingering())
        if not result.interrupts:
            result = replace(result, reason="interrupted", message=told)
        return _with_spending(result, values, scope)

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


def _not_cancelled(task: asyncio.Task[Any] | None) -> asyncio.Task[Any] | None:
    """`task`, unless it was cancelled before and went on, so that its count tells nothing of this run."""
    return None if task is None or task.cancelling() else task


def _begun(state: Any) -> dict[str, Any]:
    """The channels of a thread; those of a turn that broke off before it began tell of no other."""
    values = dict(state.values)
    if any(task.name in (START, ENTER) for task in state.tasks):
        values |= {"steps": [], "bus": [], "outcome": "", "ended": {}}
    return values


def _with_spending(result: RunResult, values: Mapping[str, Any], scope: RunScope) -> RunResult:
    """The result of a run that broke off, with what its unfinished units have spent too."""
    floor = Usage.from_plain((values.get("turn") or {}).get("floor"))
    return result if scope.meter is None else replace(result, usage=floor + scope.meter.spent)

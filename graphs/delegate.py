"""The tool by which a unit delegates: it runs a member of its flow inside the tool call."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool

from ..core.bus import DelegationMessage
from ..core.delta import Delta
from ..core.paths import join, pass_of
from ..core.records import StepRecord
from ..nodes.declared import EFFECT
from ..nodes.frame import Frame
from ..nodes.request import shown
from ..nodes.toolforms import ToolFailed
from ..nodes.tools import DELEGATE, HOLDS_RESOLVE, ToolRuntime
from .delegation import DelegationFlow
from .flow import Visit
from .runner import Runner


@dataclass(frozen=True)
class Delegate:
    """Delegation from one member of a flow to another. `runners` holds every member's."""

    flow: DelegationFlow
    source: str
    target: str
    runners: Mapping[str, Runner]

    def tool(self) -> BaseTool:
        """The `delegate_to_…` tool of the source."""
        part = self.flow.parts[self.target]
        told = getattr(part, "description", "") or f"Hand a task to {self.target} and get its answer."

        async def delegate(task: str, runtime: ToolRuntime) -> str:
            return await self._run(task, runtime)

        return StructuredTool.from_function(
            coroutine=delegate,
            name=f"{DELEGATE}{self.target}",
            description=told,
            metadata={HOLDS_RESOLVE: True, EFFECT: "flow", "plait_delegates_to": self.target},
        )

    async def _run(self, task: str, runtime: ToolRuntime) -> str:
        scope, frame = runtime.call, runtime.call.frame
        assert frame is not None
        chain = frame.snapshot.chain or (self.source,)
        if len(chain) > self.flow.max_depth:
            told = f"limit max_depth={self.flow.max_depth} is used up: {' -> '.join(chain)}"
            scope.failure = ("delegation-limit", told)
            return told
        if (refusal := self._over_limit(runtime)) is not None:
            raise ToolFailed(refusal)
        said = self._said(task, frame, runtime)
        delta, record = await self._delegated(task, frame, runtime, (*chain, self.target))
        scope.done.append(Delta(bus=(said,)).then(delta))
        return self._answer(record, runtime)

    def _said(self, task: str, frame: Frame, runtime: ToolRuntime) -> DelegationMessage:
        snapshot = frame.snapshot
        message = DelegationMessage(
            id=f"{snapshot.thread_id}:{snapshot.turn}:{snapshot.path}:{runtime.tool_call_id}",
            path=snapshot.path,
            timestamp=time.time(),
            source=snapshot.path,
            target=self.target,
            task=task,
        )
        frame.run.publish(message)
        return message

    async def _delegated(
        self, task: str, frame: Frame, runtime: ToolRuntime, chain: tuple[str, ...]
    ) -> tuple[Delta, StepRecord]:
        """Run the target on `task`; its records say who delegated."""
        caller = frame.snapshot.path
        own = caller if frame.snapshot.chain else _flow_path(caller, self.source)
        path = pass_of(join(own, self.target), runtime.call.number)
        snapshot = replace(frame.snapshot.at(own, ()), chain=chain)
        runner = self.runners[self.target]
        visit = Visit(self.target, path, task=task)
        async with _lent(frame):
            done = await runner.visit(visit, frame.at(snapshot), runtime.call.runtime, runner.graph)
        steps = tuple(replace(s, delegated_by=caller) if s.path == path else s for s in done.steps)
        return replace(done, steps=steps), next(s for s in reversed(steps) if s.path == path)

    def _answer(self, record: StepRecord, runtime: ToolRuntime) -> str:
        """What the caller reads. Raises ToolFailed with the reason and the last useful text."""
        if record.reason == "delegation-limit":
            runtime.call.failure = ("delegation-limit", record.message)
        if record.status in ("failed", "cancelled", "skipped"):
            said = f"; its last text: {record.text}" if record.text else ""
            why = f" ({record.reason})" if record.reason else ""
            told = f": {record.message}" if record.message else ""
            raise ToolFailed(f"{self.target} {record.status}{why}{told}{said}")
        output = record.output
        if output is None or output == "":
            raise ToolFailed(
                f"{self.target} gave nothing{f'; its last text: {record.text}' if record.text else ''}"
            )
        return shown(output)

    @property
    def _remembers(self) -> bool:
        """Whether the source begins with what it said in earlier passes and turns."""
        return bool(self.flow.parts[self.source].memory != "none")

    def _over_limit(self, runtime: ToolRuntime) -> str | None:
        """Why no more may be delegated; a second try after being told ends the unit."""
        remembered = len(runtime.snapshot.transcript(runtime.snapshot.path))
        new = runtime.state["messages"][remembered if self._remembers else 0 :]
        rounds = [_delegations(m) for m in new if isinstance(m, AIMessage)]
        before = sum(rounds[:-1])
        if before + rounds[-1] <= self.flow.max_delegations:
            return None
        limit = f"limit max_delegations={self.flow.max_delegations} is used up"
        if before > self.flow.max_delegations:
            runtime.call.failure = ("delegation-limit", limit)
        elif before + _place(runtime) <= self.flow.max_delegations:
            return None
        return f"{limit}; finish with what you have"


def delegating(flow: DelegationFlow, key: str, runners: Mapping[str, Runner]) -> Any:
    """The member `key` with the tools by which it delegates."""
    unit = flow.parts[key]
    given = unit.tools
    tools = [Delegate(flow, key, target, runners).tool() for target in flow.delegates_of(key)]
    if callable(given):
        return unit.with_(tools=lambda snapshot: [*given(snapshot), *tools])
    return unit.with_(tools=[*given, *tools])


def _lent(frame: Frame) -> AbstractAsyncContextManager[None]:
    """The caller's places are free while it waits for the one it has delegated to."""
    return nullcontext() if frame.lease is None else frame.lease.lent()


def _delegations(message: AIMessage) -> int:
    return sum(1 for call in message.tool_calls if call["name"].startswith(DELEGATE))


def _place(runtime: ToolRuntime) -> int:
    """The place of this call among the delegations of its reply, from 1."""
    reply = next(m for m in reversed(runtime.state["messages"]) if isinstance(m, AIMessage))
    ids = [call["id"] for call in reply.tool_calls if call["name"].startswith(DELEGATE)]
    return ids.index(runtime.tool_call_id) + 1 if runtime.tool_call_id in ids else len(ids)


def _flow_path(caller: str, source: str) -> str:
    """The path of the flow in which the member `source` stands at `caller`; that of a pass at the root is
    its mark alone, as in `boss[2]`."""
    head, _, tail = caller.rpartition("/")
    is_member = tail == source or tail.startswith((f"{source}[", f"{source}~"))
    return (head or tail.removeprefix(source)) if is_member else caller

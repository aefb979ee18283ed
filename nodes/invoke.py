"""Runs one tool call and makes its answer; a tool that fails is an answer too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import ValidationError

from ..core.bus import BusMessage, message_from_plain
from ..core.codec import decode, encode
from ..core.delta import Delta, compose
from ..core.outcome import Reason
from ..core.paths import memory_key
from ..core.plain import delta_from, update_from
from ..core.state import SharedState, StateWrite
from ..core.stored import Types
from .approvals import approved, needs_approval
from .asking import Asker, asking
from .callrecords import answer_from_plain, answer_to_plain, is_kept
from .calls import Call
from .content import NO_OUTPUT, cap, clean_content, clean_text, to_content
from .decide import answer
from .doubt import SKIPPED, Settled
from .frame import Frame
from .history import message_text
from .journal import CallJournal, Page
from .prepared import is_control
from .toolforms import ToolFailed
from .tools import CallScope, ToolRuntime, UnitTool
from .userconfig import user_config


@dataclass(frozen=True, slots=True)
class CallResult:
    """What one call came to. `output` is the full text where the message had to be cut.

    `unsettled`: it was given up while its thread still runs. `rerun`: it ran again after a crash.
    """

    message: ToolMessage
    output: str | None = None
    writes: tuple[StateWrite, ...] = ()
    bus: tuple[BusMessage, ...] = ()
    extra: tuple[BaseMessage, ...] = ()
    returns: bool = False
    inner: Delta = Delta()
    failure: tuple[Reason, str] | None = None
    unsettled: bool = False
    rerun: bool = False

    def to_plain(self) -> dict[str, Any]:
        """The form in which a finished call waits for the others of its reply."""
        plain = {
            "message": answer_to_plain(self.message),
            "output": self.output,
            "extra": list(self.extra),
            "returns": self.returns,
            "writes": [write.to_plain() for write in self.writes],
            "bus": [encode(message.to_plain(), "bus") for message in self.bus],
            "inner": update_from(self.inner),
            "failure": self.failure,
            "unsettled": self.unsettled,
            "rerun": self.rerun,
        }
        return {name: value for name, value in plain.items() if value}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], types: Types) -> CallResult:
        failure = plain.get("failure")
        return cls(
            answer_from_plain(plain["message"]),
            plain.get("output"),
            tuple(StateWrite(**write) for write in plain.get("writes", ())),
            tuple(message_from_plain(decode(message, "bus")) for message in plain.get("bus", ())),
            tuple(plain.get("extra", ())),
            plain.get("returns", False),
            delta_from(plain.get("inner", {}), types),
            (failure[0], failure[1]) if failure else None,
            plain.get("unsettled", False),
            plain.get("rerun", False),
        )


@dataclass(frozen=True)
class Caller:
    """Everything a tool call needs besides the call: the unit's place, state and runtime."""

    frame: Frame
    runtime: Runtime[Any]
    config: RunnableConfig
    messages: Sequence[BaseMessage]
    writes: Sequence[StateWrite]
    unit_id: str
    cap: int
    journal: CallJournal | None = None
    ordinal: int = 0

    async def run(self, call: Call, tool: UnitTool) -> CallResult:
        """Run `call`. Never raises but for pauses, cancellation and what is no ordinary error."""
        path, run = self.frame.snapshot.path, self.frame.run
        run.emit(
            "tool_execution_start", path, unit=self.unit_id, tool=tool.name, call_id=call.id, args=call.args
        )
        content: Any = "not finished"
        failed = True
        try:
            result = await self._decided(call, tool)
            content, failed = result.message.content, result.message.status == "error"
            return result
        except GraphBubbleUp:
            content, failed = "paused", False
            raise
        finally:
            run.emit(
                "tool_execution_end",
                path,
                unit=self.unit_id,
                tool=tool.name,
                call_id=call.id,
                content=content,
                is_error=failed,
            )

    async def _decided(self, call: Call, tool: UnitTool) -> CallResult:
        """What the call came to, once a person has approved it where that is needed."""
        why = needs_approval(call, tool)
        if not why:
            return await self._once(call, tool)
        asker = self._asker(call, "approval")
        page = self._page(call, tool)
        begun = await page.begun() if page is not None else None
        came = await approved(self._once, call, tool, why, asker, begun)
        result = came if isinstance(came, CallResult) else CallResult(came)
        return replace(result, bus=(*asker.said, *result.bus))

    def _asker(self, call: Call, what: str) -> Asker:
        name = f"{call.id}:{what}"
        return Asker.of(self.frame.snapshot, self.frame.run.publish, self.ordinal + 1, name)

    def _page(self, call: Call, tool: UnitTool) -> Page | None:
        if self.journal is None:
            return None
        return self.journal.page(self.ordinal, tool, call.args, self.frame.default_effect)

    async def _once(self, call: Call, tool: UnitTool, about: Mapping[str, Any] | None = None) -> CallResult:
        """What the call came to, which the journal may know already; `about` it is noted there."""
        page = self._page(call, tool)
        if page is None:
            return await self._guarded(call, tool)

        async def run() -> dict[str, Any]:
            return (await self._guarded(call, tool)).to_plain()

        def settle(found: Settled) -> dict[str, Any]:
            if found.skipped:
                return CallResult(answer(call, SKIPPED, error=True)).to_plain()
            return self._result(call, tool, self._tool_runtime(call, tool), found.value).to_plain()

        place = {"path": self.frame.snapshot.path, "place": self.ordinal + 1}
        page = replace(page, about=dict(about or {}))
        return CallResult.from_plain(await page.once(run, settle, place), self.frame.snapshot.schema.types)

    async def _guarded(self, call: Call, tool: UnitTool) -> CallResult:
        runtime = self._tool_runtime(call, tool)
        seconds = self.frame.meter.seconds_left()
        try:
            async with asyncio.timeout(seconds) as clock:
                value = await asking(runtime.call.asker, self._invoke(call, tool, runtime))
            return self._result(call, tool, runtime, value)
        except (GraphBubbleUp, asyncio.CancelledError):
            raise
        except TimeoutError as error:
            why = str(self.frame.meter.seconds_breach()) if clock.expired() else f"TimeoutError: {error}"
            given_up = answer(call, f"{tool.name} failed: {why}", error=True)
            return CallResult(given_up, unsettled=clock.expired() and tool.is_sync)
        except ToolFailed as failed:
            told, _ = cap(clean_text(str(failed))[0], self.cap)
            scope = runtime.call
            done = reduce(compose, scope.done, Delta())
            return CallResult(answer(call, str(told), error=True), inner=done, failure=scope.failure)
        except ValidationError as error:
            return CallResult(answer(call, f"{tool.name} failed: {_problems(error)}", error=True))
        except Exception as error:
            told, _ = cap(clean_text(f"{tool.name} failed: {type(error).__name__}: {error}")[0], self.cap)
            return CallResult(answer(call, str(told), error=True))

    async def _invoke(self, call: Call, tool: UnitTool, runtime: ToolRuntime) -> Any:
        args = {
            **{k: v for k, v in call.args.items() if k not in tool.injection.names},
            **self._injected(tool, runtime),
        }
        config = user_config(self.config, self.runtime, self.frame.snapshot.context)
        if tool.takes_call:
            asked = {"name": tool.tool.name, "args": args, "id": call.id, "type": "tool_call"}
            return await tool.tool.ainvoke(asked, config)
        return await tool.tool.ainvoke(args, config)

    def _tool_runtime(self, call: Call, tool: UnitTool) -> ToolRuntime:
        snapshot = self.frame.snapshot
        shared = SharedState(
            snapshot.values_with_outputs(),
            path=snapshot.path,
            unit=memory_key(snapshot.path),
            schema=snapshot.schema,
            writes=list(self.writes),
        )
        read = {**shared.snapshot(), "messages": list(self.messages)} if tool.injection.reads_state else {}
        return ToolRuntime(
            state=read,
            context=snapshot.context,
            config=self.config,
            stream_writer=partial(self._progress, call, tool),
            tool_call_id=call.id,
            store=self.runtime.store,
            shared=shared,
            snapshot=snapshot,
            call=CallScope(
                self.frame,
                self.runtime,
                partial(_number_of, call, tool, self.messages),
                replace(self._asker(call, "ask"), cleared=tool.name),
            ),
        )

    def _progress(self, call: Call, tool: UnitTool, told: Any) -> None:
        """What a tool says of its progress: into LangGraph's stream, and to the run's listeners."""
        self.runtime.stream_writer(told)
        about = {"tool": tool.name, "call_id": call.id, "content": told}
        self.frame.run.emit("tool_execution_update", self.frame.snapshot.path, unit=self.unit_id, **about)

    def _injected(self, tool: UnitTool, runtime: ToolRuntime) -> dict[str, Any]:
        given: dict[str, Any] = dict.fromkeys(tool.injection.runtime, runtime)
        for name, key in tool.injection.state.items():
            if key is None or key in runtime.state:
                given[name] = runtime.state if key is None else runtime.state[key]
        if tool.injection.store and runtime.store is None:
            raise ValueError("the tool wants the store, and this run has none; give Workflow(store=…)")
        return given | dict.fromkeys(tool.injection.store, runtime.store)

    def _result(self, call: Call, tool: UnitTool, runtime: ToolRuntime, value: Any) -> CallResult:
        writes = tuple(runtime.shared.writes[len(self.writes) :])
        scope = runtime.call
        bus, inner = (*scope.asker.said, *scope.published), reduce(compose, scope.done, Delta())
        if not is_control(value):
            value = answer(call, to_content(value, tool.name))  # type: ignore[arg-type]
        items = value if isinstance(value, list) else [value]
        updates = [_update_of(item) for item in items if isinstance(item, Command)]
        said = [m for m in items if isinstance(m, ToolMessage)] + [
            m for u in updates for m in u.get("messages", [])
        ]
        for update in updates:
            writes += self._written(runtime, {k: v for k, v in update.items() if k != "messages"})
        own = next((m for m in said if isinstance(m, ToolMessage) and m.tool_call_id == call.id), None)
        own = own or answer(call, "done")
        others = tuple(m for m in said if not isinstance(m, ToolMessage))
        message, full = self._capped(own, call, tool)
        returns = tool.tool.return_direct
        return CallResult(message, full, writes, bus, others, returns, inner, scope.failure)

    def _written(self, runtime: ToolRuntime, update: Mapping[str, Any]) -> tuple[StateWrite, ...]:
        before = len(runtime.shared.writes)
        for key, value in update.items():
            runtime.shared.set(key, value)
        return tuple(runtime.shared.writes[before:])

    def _capped(self, message: ToolMessage, call: Call, tool: UnitTool) -> tuple[ToolMessage, str | None]:
        content, full = cap(clean_content(message.content)[0] or NO_OUTPUT, self.cap)
        changed = message.model_copy(
            update={
                "content": content,
                "id": f"{call.id}:answer",
                "name": tool.wire,
                "artifact": message.artifact if is_kept(message.artifact) else None,
            }
        )
        return changed, full


def _number_of(call: Call, tool: UnitTool, messages: Sequence[BaseMessage]) -> int:
    """The how-manieth call of its tool this one is in the transcript, from 1."""
    made = (asked for m in messages if isinstance(m, AIMessage) for asked in m.tool_calls)
    ids = [asked["id"] for asked in made if asked["name"] == tool.wire]
    return ids.index(call.id) + 1 if call.id in ids else len(ids) + 1


def refused(call: Call, why: str) -> CallResult:
    """The answer to a call that may not run."""
    return CallResult(answer(call, f"{call.name} was not run: {why}", error=True))


def output_of(result: CallResult) -> str:
    """The full text of a call's result."""
    return result.output if result.output is not None else message_text(result.message)


def _update_of(command: Command[Any]) -> dict[str, Any]:
    if command.goto:
        raise ValueError("a tool of a unit cannot go to another node; return a value or Command(update=…)")
    return dict(command.update or {})


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in p['loc']) or 'arguments'}: {p['msg']}" for p in error.errors()[:5]
    )

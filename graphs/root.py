"""The root of a run: a turn begins, its flow runs, its result is written."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Overwrite

from ..core.delta import Delta, Transcripts
from ..core.errors import PlaitError
from ..core.paths import definition_key
from ..core.plain import seen_from, update_from
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from ..core.state import SharedState, StateWrite, Values, fold
from ..core.stored import Stored
from ..core.usage import Usage
from ..nodes.frame import Frame, current_run
from ..nodes.history import message_text
from ..nodes.journal import CallJournal
from ..nodes.meter import Meter
from ..nodes.pipeline import GLOBAL_NAMESPACE
from ..nodes.request import shown
from ..nodes.tools import RESOLVE
from .asking import ending
from .binding import Bound
from .channels import EMPTY_TURN, GIVEN, Turn
from .cut import cut_transcripts
from .cut_rounds import cut_rounds
from .flow import FlowEnd
from .foreign_run import run_of, tell_end, tell_start

GLOBAL_KEYS = 10_000
ENTER, EXIT = "_enter", "_exit"
"""The names of the root graph's first and last node."""
_serde = JsonPlusSerializer()
NO_TURN: Turn = {"number": 0, "task": "", "before": 0, "started": 0.0}


@dataclass(frozen=True)
class RootPlace:
    """The root flow: everything it may read is in its own channels."""

    flow: Any
    bound: Bound

    async def frame(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Frame:
        snapshot = self.snapshot(state, runtime.context, await global_values(runtime.store))
        turn: Turn = state["turn"]
        spent = snapshot.usage - Usage.from_plain(turn.get("floor"))
        scope = current_run.get()
        # a person's answer may take days: time counts from where this process took the run up
        started = max(turn["started"], scope.started) if scope else turn["started"]
        meter = Meter(self.bound.binding.limits, spent=spent, started=started)
        run = scope or run_of(runtime)
        run.meter = meter
        slots = run.slots_for(self.bound.binding.max_concurrency)
        return Frame(snapshot, meter, run, slots, default_effect=self.bound.binding.default_effect)

    def snapshot(
        self, state: Mapping[str, Any], context: Any = None, shared: Mapping[str, Any] | None = None
    ) -> Snapshot:
        """What the channels say, seen from the root."""
        turn: Turn = state.get("turn") or NO_TURN
        done = seen_from(state, self.bound.schema.types)
        return Snapshot(
            thread_id=str(_thread_id()),
            turn=turn["number"],
            task=turn["task"],
            messages=tuple(state.get("messages", ())[: turn["before"]]),
            values={**self.values(state), "global": shared or {}},
            schema=self.bound.schema,
            steps=done.steps,
            transcripts=done.transcripts,
            delivered=tuple(dict.fromkeys(done.delivered)),
            context=context,
            bundle_hash=turn.get("bundle", ""),
        )

    def update(self, delta: Delta, state: Mapping[str, Any]) -> dict[str, Any]:
        """A Delta as the update of the root's channels, its writes folded into the state."""
        update = update_from(delta)
        update.pop("writes", None)
        return update | self.folded(state, delta.writes)

    def folded(self, state: Mapping[str, Any], writes: Sequence[StateWrite]) -> dict[str, Any]:
        """The `state` and `scopes` channels after `writes`; global keys are in the store."""
        kept = [write for write in writes if write.scope != "global"]
        if not kept:
            return {}
        return self._channels(fold(self.values(state), kept, self.bound.schema))

    def values(self, state: Mapping[str, Any]) -> Values:
        """The shared state by scope, with the keys that were given from outside and may be kept."""
        return self._checked(state)[0]

    def _checked(self, state: Mapping[str, Any]) -> tuple[Values, str]:
        """The shared state with what came from outside checked and encoded, and what was refused of it."""
        workflow = dict(state.get("state", {}))
        given = workflow.pop(GIVEN, {})
        values: Values = {**state.get("scopes", {}), "workflow": workflow}
        shared, refused = SharedState(values, schema=self.bound.schema), []
        for key, value in given.items():
            try:
                shared.set(key, value)
            except PlaitError as error:
                refused.append(str(error))
        return fold(values, shared.writes, self.bound.schema), "; ".join(refused)

    def _channels(self, values: Values) -> dict[str, Any]:
        scopes = {name: dict(scope) for name, scope in values.items() if name != "workflow"}
        return {"state": Overwrite(dict(values.get("workflow", {}))), "scopes": scopes}

    async def begin(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
        """Begin a turn: clear what the former one did, and say what this one is about.

        A turn that a resume takes up again (`rewind`) stays as it is.
        """
        tell_start(runtime, resumed=bool(state.get("rewind")))
        if state.get("rewind"):
            return {}
        earlier: list[AnyMessage] = list(state.get("messages", ()))
        task, before, said = _task(state.get("task"), earlier)
        former: Turn = state.get("turn") or NO_TURN
        number = former["number"] + 1
        said = [
            message if message.id else message.model_copy(update={"id": f"turn-{number}"}) for message in said
        ]
        turn: Turn = {
            "number": number,
            "task": task,
            "before": before,
            "started": time.time(),
            "definition": dict(self.bound.hashes),
            "bundle": self.bound.bundle,
            "fault": self._checked(state)[1],
        }
        return {
            **self._cleared(state, await self._cut_off(state, runtime)),
            "turn": turn,
            "messages": said,
            "output": None,
            "outcome": "",
            "ended": {},
            **self._edited(state),
        }

    async def _cut_off(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Transcripts:
        """What units with a memory for the thread had said in a former turn that never ended."""
        former: Turn = state.get("turn") or NO_TURN
        if not former["number"] or state.get("outcome") or not self._remembers:
            return {}
        config = get_config()
        journal = CallJournal.of(run_of(runtime).live, runtime.store, config)
        cut = dict(await cut_transcripts(config, ENTER, journal.journal if journal is not None else None))
        if journal is not None:
            cut |= cut_rounds(await journal.journal.entries(journal.thread_id), former["number"])
        return {key: messages for key, messages in cut.items() if self._is_kept(key)}

    def _cleared(self, state: Mapping[str, Any], cut: Transcripts) -> dict[str, Any]:
        """What empties the channels in which a former turn left something; most runs have no former turn."""
        held = state.get("transcripts", {})
        kept = {key: messages for key, messages in held.items() if self._is_kept(key)}
        kept |= {key: list(messages) for key, messages in cut.items()}
        emptied = {channel: empty for channel, empty in EMPTY_TURN.items() if state.get(channel)}
        return emptied if len(kept) == len(held) and not cut else {**emptied, "transcripts": Overwrite(kept)}

    @property
    def _remembers(self) -> bool:
        """Whether any unit has a memory for the thread."""
        return any(unit.memory == "thread" for unit in self.bound.units.values())

    def _is_kept(self, key: str) -> bool:
        unit = self.bound.units.get(definition_key(key))
        return unit is not None and unit.memory == "thread"

    async def finish(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
        """Write what the turn came to; what its parts kept for a resume is not needed any more."""
        frame = await self.frame(state, runtime)
        journal = CallJournal.of(frame.run.live, runtime.store, get_config())
        if journal is not None:
            await journal.journal.forget(journal.thread_id)
        fault = state["turn"].get("fault")
        end = FlowEnd("failed", "invalid-state", fault) if fault else ending(self.flow, frame.snapshot)
        outcome = "done" if end.status == "skipped" else end.status  # a run in which nothing was left to do
        good = outcome in ("done", "partial")
        ended = {
            "reason": end.reason,
            "message": end.message,
            "path": end.path,
            "accepted": end.accepted,
            "value": end.stored.plain if good else None,
            "text": end.text,
        }
        tell_end(frame.run, outcome, end)
        said = [_answer(end, state, frame.snapshot)] if good and end.stored.plain is not None else []
        return {
            "output": _carried(end.stored) if good else None,
            "outcome": outcome,
            "ended": ended,
            "messages": said,
            **self._edited(state),
        }

    def _edited(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """State keys that came from outside, with the input or by an edit, checked and encoded."""
        return self._channels(self.values(state)) if GIVEN in state.get("state", {}) else {}


def _thread_id() -> str:
    return str(get_config().get("configurable", {}).get("thread_id") or "")


async def global_values(store: BaseStore | None) -> dict[str, Any]:
    """The plain values of the `global` scope; none without a store."""
    if store is None:
        return {}
    items = await store.asearch(GLOBAL_NAMESPACE, limit=GLOBAL_KEYS)
    return {item.key: item.value["value"] for item in items}


def _task(given: Any, messages: list[AnyMessage]) -> tuple[Any, int, list[BaseMessage]]:
    """The turn's task, how many messages came before it, and the messages to add for it.

    Raises PlaitError when there is nothing to do.
    """
    if isinstance(given, BaseMessage):
        given = given.content
    if given:
        return given, len(messages), [HumanMessage(given)]
    if messages and messages[-1].type == "human" and messages[-1].content:
        return messages[-1].content, len(messages) - 1, []
    raise PlaitError("there is nothing to do: give a task, or messages that end with a user's message")


def _carried(stored: Stored) -> Any:
    """The output for the `output` channel: typed, or in plain form when LangGraph cannot write its type."""
    cls = type(stored.value)
    if cls.__qualname__.rpartition(".")[2] != cls.__name__:
        return stored.plain  # LangGraph looks for a class by its name, and this one is found by another
    if stored.plain is not stored.value:
        try:
            _serde.dumps_typed(stored.value)
        except (TypeError, ValueError, OverflowError):
            return stored.plain
    return stored.value


def _answer(end: FlowEnd, state: Mapping[str, Any], snapshot: Snapshot) -> AIMessage:
    """The turn's answer in the conversation; it keeps the id of the message it repeats."""
    output = end.stored.value
    text = output if isinstance(output, str) else shown(output)
    last: StepRecord | None = next((s for s in reversed(snapshot.steps) if s.kind == "unit"), None)
    held = snapshot.transcript(last.path) if last else ()
    same = next((m for m in reversed(held) if isinstance(m, AIMessage) and _says(m, text)), None)
    return AIMessage(text, id=same.id if same else f"turn-{snapshot.turn}-answer")


def _says(message: AIMessage, text: str) -> bool:
    """Whether a reply is `text`, or gives it to `resolve`: that is how it was streamed."""
    resolved = [list(call["args"].values()) for call in message.tool_calls if call["name"] == RESOLVE]
    return message_text(message) == text or [text] in resolved

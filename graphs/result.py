"""What a run gives back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic

from langchain_core.messages import BaseMessage

from ..core.bus import BusMessage, message_from_plain
from ..core.codec import decode
from ..core.display import Displayed
from ..core.errors import RunError
from ..core.outcome import Outcome, Reason
from ..core.part import Out
from ..core.ports import InboxItem, Question
from ..core.records import StepRecord
from ..core.state import SharedState
from ..core.stored import NOTHING, Stored
from ..core.usage import Usage
from ..nodes.asking import read_question
from ..nodes.lingering import Lingering
from .binding import Bound
from .doubted import NOTHING_BEGUN, Begun, as_doubt
from .root import RootPlace

CHANNELS = ["output", "outcome", "ended", "messages", "steps", "bus", "state", "scopes", "turn", "delivered"]
"""The root's channels that a result is read from."""


@dataclass(frozen=True)
class RunResult(Displayed, Generic[Out]):
    """The end of one run: its typed output and everything that led to it.

    `steps` are this turn's units and function steps in order, `messages` the whole conversation,
    `bus` this turn's bus messages, `usage` their sum, `duration_s` seconds of this call.
    """

    thread_id: str
    outcome: Outcome
    reason: Reason | None = None
    message: str = ""
    path: str = ""
    accepted: bool | None = None
    stored: Stored = NOTHING
    state: Mapping[str, Any] | None = None
    messages: tuple[BaseMessage, ...] = ()
    bus: tuple[BusMessage, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    usage: Usage = Usage()
    duration_s: float = 0.0
    interrupts: tuple[Question, ...] = ()
    lingering: tuple[Lingering, ...] = ()
    undelivered: tuple[InboxItem, ...] = ()

    _display: ClassVar[str] = "results:result_bundle"

    @property
    def output(self) -> Out:
        """The typed output. Raises RunError unless the outcome is `done` or `partial`."""
        if self.outcome not in ("done", "partial"):
            raise self.error()
        output: Out = self.stored.value
        return output

    @property
    def completed_units(self) -> tuple[str, ...]:
        """Ids of the units that ended done or partial, in order."""
        return tuple(s.unit for s in self.steps if s.kind == "unit" and s.status in ("done", "partial"))

    def error(self) -> RunError:
        """The error that says why there is no output."""
        told = self.message or f"the run is {self.outcome} and has no output"
        return RunError(told, path=self.path, reason=self.reason or "error", result=self)


def result_from(
    bound: Bound,
    values: Mapping[str, Any],
    interrupts: Sequence[Any],
    thread_id: str,
    duration_s: float = 0.0,
) -> RunResult:
    """Read a result from the root's channels."""
    types = bound.schema.types
    records = [StepRecord.from_plain(record, types) for record in values.get("steps", ())]
    ended: Any = values.get("ended") or {}
    outcome: Any = values.get("outcome") or "cancelled"
    questions = questions_from(interrupts)
    state = SharedState(RootPlace(bound.root, bound).values(values), schema=bound.schema, writable=False)
    key = f"output of {ended.get('path') or 'the run'}"
    return RunResult(
        thread_id=thread_id,
        outcome="paused" if questions else outcome,
        reason=ended.get("reason"),
        message=ended.get("message", ""),
        path=ended.get("path", ""),
        accepted=ended.get("accepted"),
        stored=Stored(ended["value"], key, types) if ended.get("value") is not None else NOTHING,
        state=state.snapshot(),
        messages=tuple(values.get("messages", ())),
        bus=tuple(message_from_plain(decode(message, "bus", types)) for message in values.get("bus", ())),
        steps=tuple(_whole(r, records) for r in records if r.kind != "flow" and r.is_final),
        usage=Usage.total(record.usage for record in records),
        duration_s=duration_s,
        interrupts=questions,
    )


def unsaved(records: Iterable[StepRecord], error: RunError, thread_id: str, duration_s: float) -> RunResult:
    """What a run did that lost its store: its outputs are in `steps`, whether they were kept or not."""
    finished = [record for record in records if record.is_final]
    return RunResult(
        thread_id,
        "failed",
        error.reason,
        str(error),
        error.path,
        steps=tuple(record for record in finished if record.kind != "flow"),
        usage=Usage.total(record.usage for record in finished),
        duration_s=duration_s,
    )


def _whole(record: StepRecord, records: Sequence[StepRecord]) -> StepRecord:
    """A step with the tool calls of the attempts that failed before a resume took it up again."""
    before = [r for r in records if r.path == record.path and not r.is_final] if record.attempt > 1 else []
    calls = tuple(call for attempt in before for call in attempt.tool_calls)
    return replace(record, tool_calls=(*calls, *record.tool_calls)) if calls else record


def questions_from(interrupts: Iterable[Any], begun: Begun = NOTHING_BEGUN) -> tuple[Question, ...]:
    """LangGraph's interrupts as questions: by path, those of one reply in the order of its calls.

    `begun` are calls that were approved and began: of those is asked what became of them, if that.
    """
    read = sorted((read_question(interrupt) for interrupt in interrupts), key=_order)
    left = (as_doubt(question, begun) for question, _ in read)
    return tuple(question for question in left if question is not None)


def _order(read: tuple[Question, int]) -> tuple[str, int]:
    return read[0].path, read[1]

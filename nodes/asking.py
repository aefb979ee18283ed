"""Asking a person from anywhere in a run: a pause that knows where it was asked and is never swallowed.

A question crosses LangGraph as an interrupt's value. A mapping, such as one in Agent Inbox's form, stays
as it is but for one key more; every other value stands under `question`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.types import Interrupt, interrupt

from ..core.bus import BusMessage, HitlRequest, HitlResponse
from ..core.errors import PlaitError
from ..core.ports import Publish, Question, QuestionKind
from ..core.snapshot import Snapshot

MARK = "plait"
"""The key under which a mapping that is asked says where."""

KINDS: tuple[QuestionKind, ...] = ("question", "approval", "in-doubt")


@dataclass
class Asker:
    """Whoever may ask now: a part of a flow, or one call of a tool.

    `place` orders the questions of one reply, `cleared` is the tool that need not be approved any more in
    its call, `said` are the bus messages of what has been answered.
    """

    path: str = ""
    base: str = ""
    place: int = 1
    cleared: str = ""
    publish: Publish | None = None
    said: list[BusMessage] = field(default_factory=list)
    pauses: dict[str, GraphInterrupt] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot, publish: Publish | None, place: int = 1, name: str = "") -> Asker:
        """The asker of the part at the snapshot's path; `name` tells apart the calls in it."""
        attempt = len(snapshot.attempts(snapshot.path)) + 1 if snapshot.steps else 1
        base = f"{snapshot.thread_id}:{snapshot.turn}:{snapshot.path}#{attempt}"
        return cls(snapshot.path, f"{base}:{name}" if name else base, place, publish=publish)

    @property
    def caught(self) -> GraphInterrupt:
        """The first pause, which somebody has caught."""
        return next(iter(self.pauses.values()))

    def ask(self, question: Any, kind: QuestionKind = "question") -> Any:
        """Pause with `question`; gives the answer once the thread is resumed with it."""
        task = task_namespace()
        if task in self.pauses:  # somebody caught the pause and tries again
            raise self.pauses[task]
        number = self.asked[task] = self.asked.get(task, 0) + 1
        where = f"{Interrupt.from_ns(None, task).id}:{number}"
        try:
            answer = interrupt(placed(question, self.path, self.place, kind))
        except GraphInterrupt as pause:
            self.pauses[task] = pause
            if self.publish is not None:
                self.publish(self._request(where, question))
            raise
        response = HitlResponse(
            id=f"{self.base}:hitl-response:{where}", path=self.path, timestamp=time.time(), answer=answer
        )
        self.said += [self._request(where, question), response]
        return answer

    def _request(self, where: str, question: Any) -> HitlRequest:
        made = f"{self.base}:hitl-request:{where}"
        return HitlRequest(id=made, path=self.path, timestamp=time.time(), question=question)


_asker: ContextVar[Asker | None] = ContextVar("plait_asker", default=None)


def ask(question: Any) -> Any:
    """Pause the run with `question`, from a tool, a function step, a stage of the plane or a node of any
    graph below; returns the answer once the thread is resumed with it.

    The code starts again from its first line then, so ask before any effect.
    """
    return current_asker().ask(question)


def current_asker() -> Asker:
    """In whose name the code that runs now asks."""
    return _asker.get() or Asker()


async def asking(asker: Asker, work: Awaitable[Any]) -> Any:
    """What `work` gives, while `ask` asks in the name of `asker`.

    Every pause in it leaves with its place. One that was caught inside is raised all the same: an
    answer that nobody waits for would be lost.
    """
    token = _asker.set(asker)
    try:
        given = await work
    except GraphInterrupt as pause:
        raise _placed_all(pause, asker) from pause.__cause__
    except GraphBubbleUp:
        raise
    except Exception as error:
        if asker.pauses:
            raise asker.caught from error
        raise
    finally:
        _asker.reset(token)
    if asker.pauses:
        raise asker.caught
    return given


def task_namespace() -> str:
    """The checkpoint namespace of the task that runs. Raises PlaitError where none does."""
    try:
        conf = get_config().get("configurable", {})
    except RuntimeError:
        conf = {}
    if "checkpoint_ns" not in conf:
        raise PlaitError("ask() was called outside a run: there is no thread that could be paused")
    return str(conf["checkpoint_ns"])


def placed(question: Any, path: str, place: int, kind: QuestionKind = "question") -> Any:
    """A question as an interrupt's value."""
    told = {"path": path, "place": place, "type": kind}
    if _is_agent_inbox(question):
        return {**question, MARK: told}
    if isinstance(question, list) and len(question) == 1 and _is_agent_inbox(question[0]):
        return [{**question[0], MARK: told}]
    return {**told, "question": question}


def read_question(asked: Interrupt) -> tuple[Question, int]:
    """An interrupt as a question, with its place among those of one reply."""
    value = asked.value
    told, question = _told(value)
    if told is None:
        return Question(asked.id, "", value), 0
    kind = told.get("type", "question")
    return Question(asked.id, told["path"], question, kind), told["place"]


def _told(value: Any) -> tuple[Mapping[str, Any] | None, Any]:
    """Where a question was asked, and what it was before it was placed."""
    if isinstance(value, list) and len(value) == 1:
        told, question = _told(value[0]) if _is_agent_inbox(value[0]) else (None, None)
        return told, [question]
    if not isinstance(value, Mapping):
        return None, value
    if MARK in value and _is_place(value[MARK]):
        return value[MARK], {key: item for key, item in value.items() if key != MARK}
    if _is_place(value) and "question" in value:
        return value, value["question"]
    return None, value


def _is_place(value: Any) -> bool:
    return isinstance(value, Mapping) and {"path", "place"} <= set(value) and value.get("type") in KINDS


def _is_agent_inbox(question: Any) -> bool:
    """Whether it is in Agent Inbox's form, or in that of LangChain's middleware, which it shows too."""
    keys = set(question) if isinstance(question, Mapping) else set()
    return {"action_request", "config"} <= keys or "action_requests" in keys


def _placed_all(pause: GraphInterrupt, asker: Asker) -> GraphInterrupt:
    """The same pause; what LangGraph's own `interrupt` asked now says where."""
    items = tuple(pause.args[0]) if pause.args else ()
    if all(_told(item.value)[0] is not None for item in items):
        return pause
    return GraphInterrupt(tuple(_placed_one(item, asker) for item in items))


def _placed_one(item: Interrupt, asker: Asker) -> Interrupt:
    if _told(item.value)[0] is not None:
        return item
    value = placed(item.value, asker.path, asker.place)
    return Interrupt(value, item.id, response_schema=item.response_schema)

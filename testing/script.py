"""The script at play: which reply a request gets, decided by what the request holds."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from .jsonlike import as_json
from .replies import Entry, Failure, ReplyLike, ScriptError, calls_of, content_of, entry, message_of, size


@dataclass(frozen=True, slots=True)
class Request:
    """What one call of the model was sent, and by which unit.

    `unit` and `path` are None outside of a workflow. `tool_schemas` are in OpenAI
    function form, `kwargs` is what else was bound or passed (`tool_choice`, `stop`, …).
    The messages are the very objects that were sent, not copies.
    """

    unit: str | None
    path: str | None
    messages: tuple[BaseMessage, ...]
    tools: tuple[str, ...] = ()
    tool_schemas: tuple[dict[str, Any], ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """Text of the first system message, or blank."""
        return _first_text(SystemMessage, self.messages)

    @property
    def user(self) -> str:
        """Text of the last human message, or blank."""
        return _first_text(HumanMessage, reversed(self.messages))

    @property
    def first_user(self) -> str:
        """Text of the first human message, or blank."""
        return _first_text(HumanMessage, self.messages)

    @property
    def last(self) -> BaseMessage:
        """The last message. Raises IndexError when none was sent."""
        return self.messages[-1]

    @property
    def tool_results(self) -> tuple[ToolMessage, ...]:
        """The tool messages after the last human message, in order."""
        spoken = [at for at, each in enumerate(self.messages) if isinstance(each, HumanMessage)]
        recent = self.messages[spoken[-1] + 1 :] if spoken else self.messages
        return tuple(each for each in recent if isinstance(each, ToolMessage))

    @property
    def replies(self) -> int:
        """How many of the model's own messages the request holds."""
        return sum(isinstance(each, AIMessage) for each in self.messages)


def _first_text(kind: type[BaseMessage], messages: Iterable[BaseMessage]) -> str:
    return next((str(each.text) for each in messages if isinstance(each, kind)), "")


Rule: TypeAlias = Callable[[Request], ReplyLike | None]
"""Answers a request from what it holds; None says that there is no rule for it."""

Steps: TypeAlias = Sequence[ReplyLike] | Rule
Script: TypeAlias = Steps | Mapping[str, Steps]
"""Replies in order, or a rule; for all units together, or by unit id."""


def rules(*pairs: tuple[str | Callable[[Request], bool], ReplyLike | Rule]) -> Rule:
    """A rule from (condition, reply) pairs; the first whose condition holds answers.

    A string holds when the last human message contains it, so a blank one always does.
    """

    def answer(request: Request) -> ReplyLike | None:
        for condition, made in pairs:
            holds = condition in request.user if isinstance(condition, str) else condition(request)
            if holds:
                return made(request) if callable(made) else made
        return None

    return answer


@dataclass(frozen=True, slots=True)
class Taken:
    """The step of the script that a request was given."""

    step: Entry
    position: int

    def message(self, request: Request) -> AIMessage:
        """The reply as a new message. Raises the scripted error when the step is one."""
        if isinstance(self.step, Failure):
            raise self.step.error.with_traceback(None)
        sent_chars = sum(map(size, request.messages))
        sent_chars += len(as_json(request.tool_schemas)) if request.tool_schemas else 0
        return message_of(self.step, f"call_{request.unit or 'x'}_{self.position}", sent_chars)


class Track:
    """The replies for one unit, or for all of them, and how far they are read."""

    def __init__(self, steps: Steps, name: str) -> None:
        self.name = name
        self.rule: Rule | None = None
        self.entries: tuple[Entry, ...] = ()
        self.position: int | None = None
        self.skipped = 0
        if isinstance(steps, (list, tuple)):
            self.entries = tuple(entry(step, f"{name}[{at}]") for at, step in enumerate(steps))
        elif callable(steps):
            self.rule = steps
        else:
            raise ScriptError(f"{name}: {type(steps).__name__} is neither a list of replies nor a rule")

    def advance(self, request: Request) -> int:
        """The position for a new request; the first one looks for its place."""
        if self.rule is not None:
            position = max(self.position or 0, request.replies)
        elif self.position is None:
            held = [each for each in request.messages if isinstance(each, AIMessage)]
            position = self.skipped = resume_at(self.entries, held)
        else:
            position = self.position
        self.position = position + 1
        return position

    def at(self, position: int, request: Request) -> Entry:
        """The step for a request. Raises ScriptError when the script has none."""
        if self.rule is not None:
            made = self.rule(request)
            if made is None:
                raise ScriptError(f"no rule for {_asker(request)}; {_last_words(request)}")
            return entry(made, f"the rule for {_asker(request)}")
        if position < len(self.entries):
            return self.entries[position]
        known = f", the first {self.skipped} of which its first request already held" if self.skipped else ""
        raise ScriptError(
            f"{_asker(request)} asked once more than scripted: {self.name} has "
            f"{len(self.entries)} replies{known}; {_last_words(request)}"
        )

    @property
    def unused(self) -> str:
        """Which replies were never asked for, or blank."""
        read, count = self.position or 0, len(self.entries)
        return f"{self.name}: {count - read} of {count} replies, from [{read}] on" if read < count else ""


class Tape:
    """A script with its cursors: gives each request its reply, the same one when asked again."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Request] = []
        self.faults: list[ScriptError] = []
        self._lock = threading.Lock()
        self._served: dict[tuple[str | None, ...], Taken] = {}
        self._tracks: dict[str, Track] = {}
        self._shared: Track | None = None
        if isinstance(script, Mapping):
            self._tracks = {unit: Track(steps, f"the script of {unit!r}") for unit, steps in script.items()}
        else:
            self._shared = Track(script, "the script")

    def take(self, request: Request, execution: str | None) -> Taken:
        """The step for a request. Raises ScriptError when there is none.

        `execution` names one execution of a node, also when it runs again after a crash.
        The same messages in the same execution get the same step again.
        """
        key = (request.unit, request.path, execution, digest(request.messages)) if execution else None
        with self._lock:
            self.requests.append(request)
            if key in self._served:
                return self._served[key]
        try:
            track = self._track(request.unit)
            with self._lock:
                position = track.advance(request)
            taken = Taken(track.at(position, request), position)
        except ScriptError as error:
            self.faults.append(error)
            raise
        if key is not None and not isinstance(taken.step, Failure):
            self._served[key] = taken
        return taken

    def check(self) -> None:
        """Raises ScriptError for replies that nobody asked for and requests without a reply."""
        tracks = [self._shared] if self._shared else list(self._tracks.values())
        unused = [track.unused for track in tracks if track.unused]
        missing = [str(error) for error in self.faults]
        if unused or missing:
            raise ScriptError("\n".join([*missing, *(f"not used: {each}" for each in unused)]))

    def _track(self, unit: str | None) -> Track:
        if self._shared is not None:
            return self._shared
        keys = ", ".join(map(repr, self._tracks)) or "no unit"
        if unit is None:
            raise ScriptError(f"the request names no unit, but the script is by unit: {keys}")
        if unit not in self._tracks:
            raise ScriptError(f"no script for unit {unit!r}; there is one for {keys}")
        return self._tracks[unit]


def resume_at(entries: Sequence[Entry], held: Sequence[AIMessage]) -> int:
    """Where a script goes on for a conversation that already holds some of its replies.

    The held messages that stand in the script at all must follow each other in it, but
    for steps that leave no trace: blank, cut or failed ones. The earliest such place
    counts; if there is none, older messages are left out one by one; else it is 0.
    """
    if not held:
        return 0
    marks = [None if isinstance(step, Failure) else _mark(message_of(step)) for step in entries]
    ours = [mark for mark in map(_mark, held) if mark in marks]
    for oldest in range(len(ours)):
        for start in range(len(entries)):
            if end := _end_of_match(entries, marks, start, ours[oldest:]):
                return end
    return 0


def _end_of_match(
    entries: Sequence[Entry], marks: Sequence[tuple[str, str] | None], start: int, ours: list[tuple[str, str]]
) -> int:
    """The position after the match that begins at `start`, or 0."""
    matched = 0
    for at in range(start, len(entries)):
        if marks[at] == ours[matched]:
            matched += 1
            if matched == len(ours):
                return at + 1
        elif at == start or not _leaves_no_trace(entries[at]):
            return 0
    return 0


def _leaves_no_trace(step: Entry) -> bool:
    if isinstance(step, Failure):
        return True
    message = message_of(step)
    cut = message.response_metadata.get("finish_reason", "stop") in ("length", None)
    return cut or bool(message.invalid_tool_calls) or not any(_mark(message))


def _mark(message: BaseMessage) -> tuple[str, str]:
    return str(message.text).strip(), calls_of(message)


def digest(messages: Sequence[BaseMessage]) -> str:
    """A hash of what the messages say, without their ids."""
    parts = [(each.type, content_of(each), calls_of(each)) for each in messages]
    return hashlib.blake2b(as_json(parts).encode(), digest_size=16).hexdigest()


def _asker(request: Request) -> str:
    return "a request without a unit" if request.unit is None else f"unit {(request.path or request.unit)!r}"


def _last_words(request: Request) -> str:
    if not request.messages:
        return "it sent no message"
    said = content_of(request.last) or calls_of(request.last)
    return f"its last message is {request.last.type}: {said[:200]!r}"

"""Replay: a recording as a model and as tools; it answers what was recorded, and nothing else."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from ..core.codec import decode
from ..core.errors import PlaitError
from .around import around
from .jsonlike import as_json
from .scripted import pieces
from .told import ToldModel
from .traffic import ModelCall, ToolCall, error_of, read_traffic, reply_of

PIECE = 8
"""Characters in one piece of a replayed stream."""


class ReplayError(PlaitError, AssertionError):
    """A run that is not the recorded one: it names the first request that differs, and the file's line."""


class Replay:
    """Answers a run from the recording at `path`: `workflow.replace(model=replay.model)`.

    A model call is matched by the path of the unit that asks and its number there, so that parallel
    units may ask in any order; a tool call by its tool and arguments. Raises ReplayError where the run
    differs; `check`, or leaving the `with` block, raises it for what was recorded and never asked for.
    Recording shows an example. Raises RecordingError for a file that is no recording.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.model = ReplayedModel(self.answer)
        self.faults: list[ReplayError] = []
        self._asked: dict[str, int] = defaultdict(int)
        self._requests: dict[str, list[ModelCall]] = defaultdict(list)
        self._calls: dict[str, deque[ToolCall]] = defaultdict(deque)
        self._lock = threading.Lock()
        for each in read_traffic(self.path):
            if isinstance(each, ModelCall):
                self._requests[each.path].append(each)
            else:
                self._calls[each.key].append(each)

    def tools(self, tools: Iterable[Any]) -> list[BaseTool]:
        """The tools with their recorded results; their functions are not called."""
        return [around(tool, self._called) for tool in tools]

    def answer(self, asked: ModelCall) -> ModelCall:
        """The recorded call for a request. Raises ReplayError. For the framework."""
        with self._lock:
            if self.faults:
                raise self.faults[0]
            number = self._asked[asked.path] = self._asked[asked.path] + 1
            recorded = self._requests.get(asked.path, [])
            if number > len(recorded):
                raise self._fault(_surplus(asked, number, [*self._requests], recorded))
            known = recorded[number - 1]
            if told := _deviation(known, asked):
                name = f"request {number} of {asked.path or 'the model'}"
                raise self._fault(f"{name} is not the recorded one ({self.path}, {told}")
            return known

    def check(self) -> None:
        """Raise ReplayError for the first fault, or for what was recorded and not asked for."""
        if self.faults:
            raise self.faults[0]
        for path, recorded in self._requests.items():
            if left := recorded[self._asked[path] :]:
                place = f"{self.path}, line {left[0].line}"
                told = f"request {self._asked[path] + 1} of {path or 'the model'} was never sent ({place})"
                raise ReplayError(f"{told}; {len(left)} of its {len(recorded)} requests are left over")
        for calls in self._calls.values():
            if calls:
                place = f"{self.path}, line {calls[0].line}"
                raise ReplayError(f"{calls[0].tool}({_short(calls[0].args)}) was never called ({place})")

    def __enter__(self) -> Replay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.check()

    def _fault(self, told: str) -> ReplayError:
        self.faults.append(ReplayError(f"{told}; record the run again if this is meant"))
        return self.faults[-1]

    def _called(self, name: str, args: dict[str, Any], run: Callable[[], Any]) -> Any:
        known = self._known(name, args)
        if known.raised is not None:
            raise error_of(known.raised)
        return decode(known.gave, f"what {name} gave")

    def _known(self, name: str, args: dict[str, Any]) -> ToolCall:
        asked = ToolCall(name, args)
        with self._lock:
            if calls := self._calls.get(asked.key):
                return calls.popleft()
            known = [each for calls in self._calls.values() for each in calls if each.tool == name]
            places = ", ".join(f"line {each.line}: {_short(each.args)}" for each in known[:3])
            left = f"what is left of {name} is {places}" if known else f"no call of {name} is left"
            raise self._fault(f"{name}({_short(args)}) is not recorded in {self.path}: {left}")


def _surplus(asked: ModelCall, number: int, paths: list[str], recorded: list[ModelCall]) -> str:
    if not recorded:
        return f"{asked.path or 'the model'} asks, but only these were recorded: {', '.join(paths) or 'none'}"
    last = recorded[-1].line
    return (
        f"request {number} of {asked.path or 'the model'} is one more than recorded (the last: line {last})"
    )


def _deviation(known: ModelCall, asked: ModelCall) -> str | None:
    """Where a request differs from the recorded one first: line, message number, what."""
    for number, (was, now) in enumerate(zip(known.messages, asked.messages, strict=False)):
        if was != now:
            place = f"line {known.lines[number]}): message {number + 1}"
            return f"{place} is {_short(now)}, recorded was {_short(was)}"
    if len(known.messages) != len(asked.messages):
        place = f"line {known.line}): it has {len(asked.messages)} messages"
        return f"{place}, recorded were {len(known.messages)}"
    keys = [*known.about, *(key for key in asked.about if key not in known.about)]
    differs = next((key for key in keys if known.about.get(key) != asked.about.get(key)), None)
    if differs is None:
        return None
    sent, held = asked.about.get(differs), known.about.get(differs)
    return f"line {known.line}): {differs}: {_short(sent)}, recorded: {_short(held)}"


def _short(value: Any) -> str:
    told = as_json(value)
    return told if len(told) <= 300 else f"{told[:200]} … {told[-80:]}"


class ReplayedModel(ToldModel):
    """A chat model that answers from a recording; made by Replay."""

    _answer: Callable[[ModelCall], ModelCall] = PrivateAttr()

    def __init__(self, answer: Callable[[ModelCall], ModelCall]) -> None:
        super().__init__()
        self._answer = answer

    @property
    def _llm_type(self) -> str:
        return "replayed"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        known = self._answer(self._told(messages, stop, run_manager, kwargs))
        if known.raised is not None:
            raise error_of(known.raised)
        return ChatResult(generations=[ChatGeneration(message=reply_of(known.reply or {}))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, run_manager, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._generate(messages, stop, run_manager, **kwargs).generations[0].message
        if isinstance(message, AIMessage):
            yield from pieces(message, PIECE)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for piece in self._stream(messages, stop, run_manager, **kwargs):
            yield piece

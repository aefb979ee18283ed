"""What a unit is told: its system prompt, the task, and what its predecessors gave.

Texts are never templates: prompts, tasks and outputs reach the model character for character.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from ..core.records import ANEW
from ..core.snapshot import Input, Snapshot
from .content import clean_text
from .history import message_text, sound
from .schema import output_schema
from .unit import WorkflowUnit
from .usercode import called

CONTINUE = "Continue."


def request(
    unit: WorkflowUnit[Any], snapshot: Snapshot, transcript: Sequence[BaseMessage]
) -> list[BaseMessage]:
    """The messages of the next model call: one system message at most, and it is first."""
    prompt = unit.prompt if isinstance(unit.prompt, str) else str(called("prompt=", unit.prompt, snapshot))
    system = [SystemMessage(clean_text(prompt)[0])] if prompt else []
    messages = [*system, *_earlier(unit, snapshot, transcript), *transcript]
    if unit.conversation or unit.input_adapter is not None:
        messages = sound(messages)  # what came from outside need not keep the history rule
    return alternating(messages) if unit.strict_alternation else messages


def _earlier(
    unit: WorkflowUnit[Any], snapshot: Snapshot, transcript: Sequence[BaseMessage]
) -> list[BaseMessage]:
    """The conversation a unit sees, without what its own transcript holds."""
    if not unit.conversation:
        return []
    held = {message.id for message in transcript}
    said = {message_text(message) for message in transcript if message.type == "human"}
    return [
        m
        for m in snapshot.messages
        if m.id not in held and not (m.type == "human" and message_text(m) in said)
    ]


def alternating(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """`messages` with adjacent user messages merged, in order: text below text, blocks after blocks."""
    merged: list[BaseMessage] = []
    for message in messages:
        if merged and message.type == merged[-1].type == "human":
            merged[-1] = HumanMessage(_joined(merged[-1].content, message.content), id=merged[-1].id)
        else:
            merged.append(message)
    return merged


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_blocks(first), *_blocks(second)]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def opening(unit: WorkflowUnit[Any], snapshot: Snapshot) -> list[BaseMessage]:
    """The transcript a unit starts a pass with: what it remembers and what is new."""
    attempts = snapshot.attempts(snapshot.path)
    taken_up = bool(attempts) and attempts[-1].status == "rewound" and ANEW not in attempts[-1].metadata
    if taken_up and (held := snapshot.transcript(snapshot.path)):
        return [*held, *([HumanMessage(CONTINUE)] if held[-1].type == "ai" else [])]
    remembered = () if unit.memory == "none" else snapshot.transcript(snapshot.path)
    if unit.input_adapter is not None:
        return [*remembered, *as_messages(called("input_adapter=", unit.input_adapter, snapshot))]
    is_new = not remembered or is_new_turn(remembered, snapshot) or is_new_task(remembered, snapshot)
    return [*remembered, _told(unit, snapshot, is_new=is_new)]


def is_new_task(remembered: Sequence[BaseMessage], snapshot: Snapshot) -> bool:
    """Whether the task was given to this part and is not among what it was told before."""
    if not snapshot.assigned or not isinstance(snapshot.task, str):
        return False
    return not any(m.type == "human" and message_text(m).startswith(snapshot.task) for m in remembered)


def is_new_turn(remembered: Sequence[BaseMessage], snapshot: Snapshot) -> bool:
    """Whether what is remembered stems from earlier turns, so that the task is new to the unit."""
    last = next((m for m in reversed(remembered) if m.type == "human" and m.id), None)
    return last is None or f":{snapshot.turn}." not in (last.id or "")


def _told(unit: WorkflowUnit[Any], snapshot: Snapshot, *, is_new: bool) -> BaseMessage:
    parts = [*_task_text(snapshot, is_new), *_outputs(unit, snapshot)]
    text = clean_text("\n\n".join(parts) or CONTINUE)[0]
    if is_new and not isinstance(snapshot.task, str):
        extra = [{"type": "text", "text": text}] if parts else []
        return HumanMessage([*snapshot.task, *extra])
    return HumanMessage(text)


def _task_text(snapshot: Snapshot, is_new: bool) -> list[str]:
    return [snapshot.task] if is_new and isinstance(snapshot.task, str) and snapshot.task else []


def _outputs(unit: WorkflowUnit[Any], snapshot: Snapshot) -> list[str]:
    if unit.sees == "all-steps":
        seen: Iterable[Input] = (
            Input(step.path, step.output)
            for step in snapshot.steps
            if step.kind != "flow" and step.status in ("done", "partial")
        )
    else:
        seen = snapshot.inputs
    return [f"Output of {item.path}:\n{item.text or shown(item.output)}" for item in seen]


def shown(output: Any) -> str:
    """A typed output as the next unit reads it: text as it is, anything else as compact JSON."""
    if isinstance(output, str):
        return output
    return output_schema(type(output)).text(output)


def as_messages(given: Any) -> list[BaseMessage]:
    """What an input adapter returned, as messages: text, content blocks, or messages.

    Raises TypeError for anything else.
    """
    if isinstance(given, str):
        return [HumanMessage(clean_text(given)[0])]
    if isinstance(given, BaseMessage):
        return [given]
    if isinstance(given, list | tuple) and all(isinstance(item, BaseMessage) for item in given):
        return list(given)
    if isinstance(given, list) and all(isinstance(item, dict) for item in given):
        return [HumanMessage(given)]
    raise TypeError(f"an input adapter returns text, content blocks or messages, not {type(given).__name__}")


_id_of = attrgetter("id")


def numbered(
    messages: Iterable[BaseMessage], held: Sequence[BaseMessage], snapshot: Snapshot
) -> list[BaseMessage]:
    """`messages` with an id each that is new in `held` and follows from the place it takes."""
    taken = set(map(_id_of, held))
    result: list[BaseMessage] = []
    for place, message in enumerate(messages, start=len(held)):
        if not message.id or message.id in taken:
            message = message.model_copy(update={"id": f"{snapshot.path}:{snapshot.turn}.{place}"})
        taken.add(message.id)
        result.append(message)
    return result

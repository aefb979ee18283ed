"""Snapshot: what a node may read. A value; `apply` is the action of Deltas on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import BaseMessage

from .bookkeeping import Scopes
from .delta import Delta, Transcripts, by_id
from .paths import is_below, memory_key
from .records import StepRecord
from .state import SharedState, Values, fold
from .stateschema import UNTYPED, StateSchema
from .usage import Usage

Task = str | list[Any]
"""What a turn is about: text, or a list of content blocks."""


@dataclass(frozen=True, slots=True)
class Input:
    """The output of a direct predecessor, with its path."""

    path: str
    output: Any
    text: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a unit, flow or function step may read, seen from `path`.

    `task` is this turn's input, `messages` the conversation so far, `steps` this turn's records,
    `inputs` the outputs of the direct predecessors, `context` the user's own run context. `assigned`:
    the task is not the turn's but was given to this part by a plan or a delegation, whose `chain`
    says who delegated to whom.
    """

    path: str = ""
    thread_id: str = ""
    turn: int = 1
    task: Task = ""
    messages: tuple[BaseMessage, ...] = ()
    values: Values = field(default_factory=dict)
    schema: StateSchema = UNTYPED
    steps: tuple[StepRecord, ...] = ()
    inputs: tuple[Input, ...] = ()
    transcripts: Transcripts = field(default_factory=dict)
    delivered: tuple[str, ...] = ()
    context: Any = None
    bundle_hash: str = ""
    depth: int = 0
    assigned: bool = False
    chain: tuple[str, ...] = ()

    @property
    def state(self) -> SharedState:
        """The shared state, read-only; tools and output adapters write it."""
        return SharedState(self.values_with_outputs(), schema=self.schema, path=self.path, writable=False)

    @property
    def output(self) -> Any:
        """The output of the last direct predecessor, or None."""
        return self.inputs[-1].output if self.inputs else None

    @property
    def usage(self) -> Usage:
        return Usage.total(step.usage for step in self.steps)

    @property
    def outputs(self) -> Mapping[str, Any]:
        """This turn's outputs by path."""
        return {step.path: step.output for step in self.steps if step.status in ("done", "partial")}

    def record(self, path: str) -> StepRecord | None:
        """The newest record at `path` that counts, or None while the part has not run."""
        found = [step for step in self.steps if step.path == path and step.is_final]
        return found[-1] if found else None

    @property
    def final(self) -> Mapping[str, StepRecord]:
        """The newest record that counts, by path: `record` for many paths at once."""
        return {step.path: step for step in self.steps if step.is_final}

    def attempts(self, path: str) -> tuple[StepRecord, ...]:
        """All records at `path`, those that a resume took up again included."""
        return tuple(step for step in self.steps if step.path == path)

    def below(self, path: str) -> tuple[StepRecord, ...]:
        """The records at or under `path`."""
        return tuple(step for step in self.steps if is_below(step.path, path))

    def transcript(self, path: str) -> tuple[BaseMessage, ...]:
        """What the unit at `path` wrote and read in its earlier passes."""
        return self.transcripts.get(memory_key(path), ())

    def apply(self, delta: Delta) -> Snapshot:
        """This snapshot after `delta`: `s.apply(a).apply(b) == s.apply(compose(a, b))`."""
        return replace(
            self,
            steps=by_id(self.steps, delta.steps),
            values=fold(self.values, delta.writes, self.schema),
            transcripts={**self.transcripts, **delta.transcripts},
            delivered=tuple(dict.fromkeys(self.delivered + delta.delivered)),
        )

    def at(self, path: str, inputs: tuple[Input, ...] | None = None) -> Snapshot:
        """The same, seen from another path and, if given, with other predecessors."""
        return replace(self, path=path, inputs=self.inputs if inputs is None else inputs)

    def values_with_outputs(self) -> Values:
        outputs = {step.path: step.stored.plain for step in self.steps if step.status in ("done", "partial")}
        return Scopes({**self.values, "outputs": outputs}, self.steps)

"""An actor, an evaluator that judges each attempt, and its feedback to the actor."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

from ..core.bus import Steering
from ..core.conditions import Predicate
from ..core.conditions import field as output_field
from ..core.errors import DefinitionError, Fault
from ..core.part import Out, PartLike
from ..core.paths import join, pass_of
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from ..nodes.request import shown
from .flow import END, START, Edge, Flow, FlowEnd, Visit, as_input, end_of, keyed
from .region import UNDONE
from .step import as_part

Score = str | Callable[[Any], Any]


@dataclass(frozen=True)
class ReflexionFlow(Flow[object, Out]):
    """Runs `actor`, then `evaluator` on its output, until `accept` holds for the evaluation.

    Otherwise the evaluation reaches the actor as a steer and it tries again, `max_iterations` times in
    all. The output is the accepted attempt, else the best one by `score` (a field of the
    evaluation, or a function of it), else the last; then the outcome is `partial` and
    `result.accepted` False. Pass n runs at `…[n]/actor`.
    """

    actor: PartLike[Out]
    evaluator: PartLike[Any]
    accept: Predicate
    score: Score = "score"
    max_iterations: int = 3
    type: ClassVar[str] = "reflexion"

    def __post_init__(self) -> None:
        for name in ("actor", "evaluator"):
            object.__setattr__(self, name, as_part(getattr(self, name)))
        if not isinstance(self.max_iterations, int) or self.max_iterations < 1:
            told = f"max_iterations must be at least 1, got {self.max_iterations}"
            raise DefinitionError([Fault(self.id or self.type, told)])

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return keyed((self.actor, self.evaluator))

    @property
    def edges(self) -> tuple[Edge, ...]:
        actor, evaluator = self.parts
        again = Edge(evaluator, actor, "again")
        return (Edge(START, actor), Edge(actor, evaluator), again, Edge(evaluator, END, "accepted"))

    def place_of(self, key: str, path: str) -> str:
        return join(path, key)

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        attempts = self._attempts(snapshot)
        if not attempts:
            return (self._act(snapshot, 1, None),)
        tried, judged = attempts[-1]
        if tried.status in UNDONE or tried.ends:
            return ()
        if judged is None:
            path = self._path(snapshot, len(attempts), 1)
            return (Visit(tuple(self.parts)[1], path, (as_input(tried),)),)
        if judged.status in UNDONE or judged.ends or self._is_accepted(snapshot, judged):
            return ()
        return (
            () if len(attempts) >= self.max_iterations else (self._act(snapshot, len(attempts) + 1, judged),)
        )

    def end(self, snapshot: Snapshot) -> FlowEnd:
        attempts = self._attempts(snapshot)
        if not attempts:
            return FlowEnd()
        tried, judged = attempts[-1]
        if judged is None or tried.status in UNDONE or tried.ends:
            return end_of(tried)
        if judged.status in UNDONE or judged.ends:
            return end_of(judged)
        if self._is_accepted(snapshot, judged):
            return replace(end_of(tried), accepted=True)
        best = self._best(attempts)
        told = f"{len(attempts)} attempts were made and none was accepted"
        return FlowEnd("partial", "exhausted", told, best.path, best.stored, best.text, accepted=False)

    def _act(self, snapshot: Snapshot, number: int, judged: StepRecord | None) -> Visit:
        path = self._path(snapshot, number, 0)
        if judged is None:
            return Visit(next(iter(self.parts)), path, snapshot.inputs)
        feedback = Steering(
            id=f"{snapshot.thread_id}:{snapshot.turn}:{judged.id}:steer",
            path=judged.path,
            timestamp=time.time(),
            target=path,
            content=shown(judged.output),
        )
        return Visit(next(iter(self.parts)), path, (as_input(judged),), messages=(feedback,))

    def _attempts(self, snapshot: Snapshot) -> list[tuple[StepRecord, StepRecord | None]]:
        found: list[tuple[StepRecord, StepRecord | None]] = []
        while (tried := snapshot.record(self._path(snapshot, len(found) + 1, 0))) is not None:
            found.append((tried, snapshot.record(self._path(snapshot, len(found) + 1, 1))))
        return found

    def _path(self, snapshot: Snapshot, number: int, which: int) -> str:
        return join(pass_of(snapshot.path, number), tuple(self.parts)[which])

    def _is_accepted(self, snapshot: Snapshot, judged: StepRecord) -> bool:
        return bool(self.accept(snapshot.at(judged.path, (as_input(judged),))))

    def _best(self, attempts: list[tuple[StepRecord, StepRecord | None]]) -> StepRecord:
        scored = [
            (score, n) for n, (_, judged) in enumerate(attempts) if (score := self._score(judged)) is not None
        ]
        return attempts[max(scored)[1] if scored else -1][0]

    def _score(self, judged: StepRecord | None) -> Any:
        if judged is None:
            return None
        if not isinstance(self.score, str):
            return self.score(judged.output)
        found = output_field(self.score).read(judged.output)
        return found if isinstance(found, Real | Decimal) and found == found else None

"""Parts side by side, and one part over many items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, overload

from ..core.bookkeeping import Role
from ..core.conditions import field as output_field
from ..core.errors import DefinitionError, Fault, RunError, ValueRefused
from ..core.failure import Failure
from ..core.part import Out, PartLike, T
from ..core.paths import join
from ..core.records import StepRecord
from ..core.snapshot import Input, Snapshot
from ..core.stored import Stored
from .flow import END, START, Edge, Flow, FlowEnd, end_of, free_key, key_of, keyed, path_of
from .region import UNDONE, Planned, Region, input_of, is_lost
from .step import as_part

Lossless = Literal["fail_fast", "require_all"]
"""The ways to fail under which no failure stands among the outputs."""

Over = Callable[[Snapshot], Sequence[Any]] | output_field | str


@dataclass(frozen=True)
class _Beside(Region[Out]):
    """What ParallelFlow and its map share: a reducer after the parts, and a quorum among them."""

    reducer: Any = field(default=None, kw_only=True)
    quorum: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reducer is not None:
            object.__setattr__(self, "reducer", as_part(self.reducer))
        if self.quorum is not None and self.quorum < 1:
            raise DefinitionError(
                [Fault(self.id or self.type, f"quorum must be at least 1, got {self.quorum}")]
            )

    @cached_property
    def reducer_key(self) -> str | None:
        return None if self.reducer is None else free_key(self.reducer, self.branches)

    @property
    def branches(self) -> Mapping[str, Any]:
        """The parts that run side by side, by key."""
        raise TypeError(f"{type(self).__name__} must define branches")

    def role_of(self, key: str) -> Role | None:
        return "aggregator" if key == self.reducer_key else None

    def steps(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        """The plan without the reducer."""
        raise TypeError(f"{type(self).__name__} must define steps")

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return {**self.branches, **({self.reducer_key: self.reducer} if self.reducer_key else {})}

    @property
    def edges(self) -> tuple[Edge, ...]:
        after = self.reducer_key or END
        started = [Edge(START, key) for key in self.branches]
        ended = [Edge(key, after) for key in self.branches]
        return (*started, *ended, *([Edge(self.reducer_key, END)] if self.reducer_key else []))

    def plan(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        steps = self.steps(snapshot)
        if self.reducer_key is None:
            return steps
        needs = tuple(step.path for step in steps)
        return (*steps, Planned(path_of(snapshot, self.reducer_key), self.reducer_key, needs, always=True))

    @property
    def may_stop(self) -> bool:
        return self.quorum is not None or super().may_stop

    def is_enough(self, finished: Sequence[StepRecord]) -> bool:
        """Whether as many parts are done as the quorum asks for."""
        return self.quorum is not None and sum(r.status == "done" for r in finished) >= self.quorum

    def end(self, snapshot: Snapshot) -> FlowEnd:
        ended = snapshot.final
        records = [ended[step.path] for step in self.steps(snapshot) if step.path in ended]
        if self.is_enough(records):
            records = [record for record in records if record.status not in UNDONE]
        reduced = ended.get(path_of(snapshot, self.reducer_key)) if self.reducer_key else None
        if reduced is None or reduced.status in ("skipped", "cancelled"):
            return self.judged(records, self._collected(records, snapshot))
        return self.judged(records, end_of(reduced), reduced=True)

    def _collected(self, records: Sequence[StepRecord], snapshot: Snapshot) -> FlowEnd:
        raise TypeError(f"{type(self).__name__} must define what it gives without a reducer")


@dataclass(frozen=True, init=False)
class ParallelFlow(_Beside[Out]):
    """Runs its parts side by side. Its output is a mapping from key to output in declaration order,
    or what `reducer` makes of them; a part that failed is a `Failure` there.

    `quorum`: when so many parts are done, the rest is cancelled. Two parts that write one state key
    without a reducer end it with StateConflict.
    """

    members: tuple[Any, ...] = ()
    type: ClassVar[str] = "parallel"

    @overload
    def __init__(self: ParallelFlow[T], *parts: Any, reducer: PartLike[T], **options: Any) -> None: ...
    @overload
    def __init__(
        self: ParallelFlow[dict[str, T]],
        *parts: PartLike[T] | Mapping[str, PartLike[T]],
        on_failure: Lossless,
        **options: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: ParallelFlow[dict[str, T | Failure]],
        *parts: PartLike[T] | Mapping[str, PartLike[T]],
        **options: Any,
    ) -> None: ...
    def __init__(self, *parts: Any, **options: Any) -> None:
        given = parts[0] if len(parts) == 1 and isinstance(parts[0], Mapping) else keyed(map(as_part, parts))
        known = {f.name: f.default for f in fields(self) if f.name != "members"}
        if unknown := sorted(set(options) - set(known)):
            told = f"there is no {', '.join(unknown)}; there are {', '.join(sorted(known))}"
            raise DefinitionError([Fault("parallel", told)])
        named = tuple((key, as_part(part)) for key, part in given.items())
        for name, value in {**known, **options, "members": named}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()
        if self.quorum is not None and self.quorum > len(named):
            told = f"quorum={self.quorum} can never be reached by {len(named)} parts"
            raise DefinitionError([Fault(self.id or self.type, told)])

    @overload
    @staticmethod
    def map(part: Any, over: Over, *, reducer: PartLike[T], **options: Any) -> MapFlow[T]: ...
    @overload
    @staticmethod
    def map(part: PartLike[T], over: Over, *, on_failure: Lossless, **options: Any) -> MapFlow[list[T]]: ...
    @overload
    @staticmethod
    def map(part: PartLike[T], over: Over, **options: Any) -> MapFlow[list[T | Failure]]: ...
    @staticmethod
    def map(part: Any, over: Over, **options: Any) -> MapFlow[Any]:
        """Run `part` once for each item of `over`: a function of the Snapshot, a field of the last
        output, or a state key. The output is a list in the order of the items."""
        return MapFlow(as_part(part), over, **options)

    def with_(self, **changes: Any) -> Any:
        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "members"}
        return ParallelFlow(dict(changes.pop("members", self.members)), **{**options, **changes})

    @cached_property
    def branches(self) -> Mapping[str, Any]:
        return dict(self.members)

    @property
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        reduced = {self.reducer_key: tuple(self.branches)} if self.reducer_key else {}
        return {**dict.fromkeys(self.branches, ()), **reduced}

    def steps(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        return tuple(Planned(path_of(snapshot, key), key) for key in self.branches)

    def _collected(self, records: Sequence[StepRecord], snapshot: Snapshot) -> FlowEnd:
        names = {path_of(snapshot, key): key for key in self.branches}
        seen = {names[r.path]: input_of(r).output for r in records if r.status != "skipped" or is_lost(r)}
        return FlowEnd(stored=Stored.of(seen, "output of the parallel parts", snapshot.schema.types))

    def __repr__(self) -> str:
        told = [repr(part) for part in self.branches.values()]
        for f in fields(self):
            if f.name != "members" and (value := getattr(self, f.name)) != f.default:
                told.append(f"{f.name}={value!r}")
        return f"ParallelFlow({', '.join(told)})"


@dataclass(frozen=True)
class MapFlow(_Beside[Out]):
    """One part over many items; made by `ParallelFlow.map`. Item n runs at the path `…{n}`."""

    part: Any
    over: Over
    type: ClassVar[str] = "map"

    @property
    def is_single(self) -> bool:
        return not isinstance(self.part, Flow)

    @property
    def segment(self) -> str:
        return self.id or (key_of(self.part) if self.is_single else self.type)

    @cached_property
    def branches(self) -> Mapping[str, Any]:
        return {key_of(self.part): self.part}

    def place_of(self, key: str, path: str) -> str:
        return join(path, key) if key == self.reducer_key else path or self.segment

    @property
    def unordered(self) -> tuple[tuple[str, str], ...]:
        return tuple((key, key) for key in self.branches)

    def steps(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        opened = snapshot.record(self._opening_path(snapshot))
        items = () if opened is None or opened.output is None else opened.output
        own, key = self._own(snapshot), key_of(self.part)
        return tuple(
            Planned(f"{own}{{{number}}}", key, inputs=(Input("item", item),))
            for number, item in enumerate(items)
        )

    def opening(self, snapshot: Snapshot) -> StepRecord | None:
        """The items, read once: what runs may change what they were read from."""
        path = self._opening_path(snapshot)
        if snapshot.record(path) is not None:
            return None
        record = StepRecord(path, self.segment, "flow", "skipped", attempt=len(snapshot.attempts(path)) + 1)
        try:
            items = list(self.items(snapshot))
            return replace(record, stored=Stored.of(items, f"items of {path}", snapshot.schema.types))
        except ValueRefused as error:
            return replace(record, status="failed", reason="refused-value", message=str(error))
        except Exception as error:
            told = f"over={self.over!r} raised {type(error).__name__}: {error}"
            told = str(error) if isinstance(error, RunError) else told
            return replace(record, status="failed", reason="error", message=told)

    def end(self, snapshot: Snapshot) -> FlowEnd:
        opened = snapshot.record(self._opening_path(snapshot))
        if opened is not None and opened.status == "failed":
            return FlowEnd("failed", opened.reason, opened.message, self._own(snapshot))
        return super().end(snapshot)

    def is_stopped(self, snapshot: Snapshot) -> bool:
        opened = snapshot.record(self._opening_path(snapshot))
        return (opened is not None and opened.status == "failed") or super().is_stopped(snapshot)

    def _own(self, snapshot: Snapshot) -> str:
        """Where the map stands; at the root, perhaps in a pass of a loop, its segment names it."""
        is_bare = not snapshot.path or snapshot.path.startswith("[")
        return join(snapshot.path, self.segment) if is_bare else snapshot.path

    def _opening_path(self, snapshot: Snapshot) -> str:
        return f"{self._own(snapshot)}{{}}"

    def items(self, snapshot: Snapshot) -> Sequence[Any]:
        """The items as the Snapshot has them. Raises RunError when there is no such sequence."""
        if isinstance(self.over, str):
            found = snapshot.state.get(self.over)
        elif isinstance(self.over, output_field):
            found = self.over.read(snapshot.output)
        else:
            found = self.over(snapshot)
        if isinstance(found, str | bytes | Mapping) or not isinstance(found, Sequence | set | frozenset):
            told = f"over={self.over!r} gave {type(found).__name__}, not a list of items"
            raise RunError(told)
        return list(found)

    def _collected(self, records: Sequence[StepRecord], snapshot: Snapshot) -> FlowEnd:
        seen = [
            input_of(record).output for record in records if record.status != "skipped" or is_lost(record)
        ]
        return FlowEnd(stored=Stored.of(seen, "output of the map", snapshot.schema.types))

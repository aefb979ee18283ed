"""Two runs beside each other, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.display import Displayed
from ..core.records import StepRecord
from ..core.usage import Usage
from .result import RunResult


@dataclass(frozen=True, slots=True)
class Row:
    """One path in both runs; a record that is None did not come about."""

    path: str
    a: StepRecord | None
    b: StepRecord | None

    @property
    def differences(self) -> tuple[str, ...]:
        """What differs of `status`, `output`, `text` and `usage`; a step that one run lacks differs in
        its status."""
        if self.a is None or self.b is None:
            return ("status",)
        pairs = {
            "status": (self.a.status, self.b.status),
            "output": (self.a.stored, self.b.stored),
            "text": (self.a.text, self.b.text),
            "usage": (self.a.usage, self.b.usage),
        }
        return tuple(name for name, (one, other) in pairs.items() if one != other)

    @property
    def is_same(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if self.is_same:
            return f"{self.path}: the same"
        if self.a is None or self.b is None:
            return f"{self.path}: {_status(self.a)} | {_status(self.b)}"
        told = (f"{name} {_shown(self.a, name)} | {_shown(self.b, name)}" for name in self.differences)
        return f"{self.path}: {'; '.join(told)}"


@dataclass(frozen=True, slots=True)
class Comparison(Displayed):
    """The rows of two runs, in the order in which the first one ran and then the second."""

    a: str
    b: str
    rows: tuple[Row, ...]

    _display: ClassVar[str] = "comparisons:comparison_bundle"

    @property
    def first(self) -> Row | None:
        """The first step that differs, or None."""
        return next((row for row in self.rows if not row.is_same), None)

    @property
    def differences(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.is_same)

    @property
    def is_same(self) -> bool:
        return self.first is None

    def __repr__(self) -> str:
        """What differs, the first difference first, then what does not."""
        same = [row for row in self.rows if row.is_same]
        head = f"{self.a} | {self.b}: {len(self.differences)} of {len(self.rows)} steps differ"
        return "\n".join([head, *(f"  {row}" for row in (*self.differences, *same))])


def compare(a: RunResult, b: RunResult) -> Comparison:
    """The last turn of one run beside that of another, step by step."""
    one, other = _by_path(a.steps), _by_path(b.steps)
    paths = _merged(list(one), list(other))
    rows = tuple(Row(path, one.get(path), other.get(path)) for path in paths)
    return Comparison(a.thread_id, b.thread_id, rows)


def _by_path(steps: Iterable[StepRecord]) -> dict[str, StepRecord]:
    return {step.path: step for step in steps}


def _merged(first: Sequence[str], then: Sequence[str]) -> list[str]:
    """The paths of both in order: one that only the second has comes after what came before it there."""
    merged = list(first)
    for place, path in enumerate(then):
        if path not in merged:
            before = then[place - 1] if place else None
            merged.insert(merged.index(before) + 1 if before is not None else 0, path)
    return merged


def _status(record: StepRecord | None) -> str:
    return "did not run" if record is None else record.status


def _shown(record: StepRecord, name: str) -> str:
    if name == "usage":
        return _spent(record.usage)
    value: Any = record.output if name == "output" else getattr(record, name)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _spent(usage: Usage) -> str:
    return f"{usage.model_calls} calls, {usage.input_tokens} + {usage.output_tokens} tokens"

"""What a run spends and what it may spend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls of a step or run. `estimated`: a provider left tokens unreported."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.model_calls + other.model_calls,
            self.tool_calls + other.tool_calls,
            self.estimated or other.estimated,
        )

    def __sub__(self, other: Usage) -> Usage:
        rests = {name: getattr(self, name) - getattr(other, name) for name in COUNTS}
        return Usage(**rests, estimated=self.estimated)

    def to_plain(self) -> dict[str, Any]:
        return {name: value for name in NAMES if (value := getattr(self, name))}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any] | None) -> Usage:
        return cls(**(plain or {}))

    @staticmethod
    def total(parts: Iterable[Usage]) -> Usage:
        return sum(parts, Usage())


NAMES = tuple(f.name for f in fields(Usage))
COUNTS = tuple(name for name in NAMES if name != "estimated")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run, flow or unit may spend, its children included. None is no limit, 0 is none at all.

    `seconds` is wall-clock time since the limited part began or was last resumed.
    """

    tokens: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (is_number and value >= 0):
                raise ValueError(f"limit {limit.name} must be a number from 0 up, got {value!r}")


@dataclass(frozen=True, slots=True)
class Breach:
    """A limit that is used up: its name, its value, and the path of the part that set it."""

    limit: str
    value: float
    path: str = ""

    def __str__(self) -> str:
        owner = self.path or "the run"
        if self.path.startswith("["):  # a pass of the loop that is the whole run
            owner = f"pass {self.path[1:-1].replace('][', '.')} of the run"
        return f"limit {self.limit}={self.value:g} of {owner} is used up"

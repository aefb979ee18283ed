"""What a crash sweep found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

ONCE = ("probe", "unsafe")
"""The declared effects of tools whose effect may not happen twice."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A crash after which the thread ended otherwise: the boundary, its number, and what differs first."""

    point: int
    at: str
    told: str

    def __str__(self) -> str:
        return f"killed {self.at} (point {self.point}): {self.told}"


@dataclass(frozen=True, slots=True)
class Repeat:
    """Effects of one tool that happened again after a crash: how often in all, and where first."""

    tool: str
    effect: str
    times: int
    first_at: str

    def __str__(self) -> str:
        return f"{self.tool} ({self.effect}) repeated {self.times} times, first when killed {self.first_at}"


@dataclass(frozen=True, slots=True)
class CrashReport:
    """The end of a sweep. `in_doubt` counts the crashes after which a person was asked.

    `points` are the crashes; `repeated` lists tools of every effect: `read`, `idempotent` and `flow`
    ones may run again.
    """

    points: int = 0
    differing: tuple[Difference, ...] = ()
    repeated: tuple[Repeat, ...] = ()
    in_doubt: int = 0
    seconds: float = 0.0

    @property
    def repeated_once_only(self) -> int:
        """How many effects happened twice that must not."""
        return sum(each.times for each in self.repeated if each.effect in ONCE)

    @property
    def is_safe(self) -> bool:
        """Whether no crash changed the end, and none made an effect happen twice that must not."""
        return self.points > 0 and not self.differing and not self.repeated_once_only

    def __add__(self, other: CrashReport) -> CrashReport:
        return CrashReport(
            self.points + other.points,
            self.differing + other.differing,
            summed([*self.repeated, *other.repeated]),
            self.in_doubt + other.in_doubt,
            self.seconds + other.seconds,
        )

    def __str__(self) -> str:
        told = [
            f"points: {self.points}",
            f"differing: {len(self.differing)}",
            f"repeated probe/unsafe effects: {self.repeated_once_only}",
            f"in doubt: {self.in_doubt}",
        ]
        told += [f"  {each}" for each in self.repeated if each.effect in ONCE]
        return "\n".join(told + [f"  {each}" for each in self.differing[:5]])


def summed(repeats: Iterable[Repeat]) -> tuple[Repeat, ...]:
    """One entry for each tool and effect."""
    times: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for each in repeats:
        times[each.tool, each.effect] += each.times
        first.setdefault((each.tool, each.effect), each.first_at)
    return tuple(Repeat(*key, count, first[key]) for key, count in times.items())

"""How a comparison is made: results first, then interleaved repeats, medians and their spread."""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any, Literal

Metric = Literal["cpu", "wall", "tokens", "bytes"]
Granularity = Literal["round", "unit"]
Work = Callable[[], Awaitable[Any]]
UNITS: Mapping[Metric, str] = {"cpu": "ms CPU", "wall": "ms", "tokens": "tokens", "bytes": "kB"}


def told(granularity: Granularity) -> str:
    """What a case's name says of it."""
    return "" if granularity == "round" else ", granularity unit"


@dataclass(frozen=True)
class Case:
    """One comparison. `hand` and `plait` do the same work and return the same result, which is checked
    once before anything is timed. `more` are further sides, shown beside the two.

    `per`: how many pieces of work one run holds. `floor`: what no side can go below, in the metric's
    unit; the ratio is then to it and not to `hand`. `weigh` reads a side's cost from its result where
    the metric is no time. `target`: the ratio that is aimed at.
    """

    name: str
    hand: Work
    plait: Work
    metric: Metric = "cpu"
    target: float | None = None
    per: int = 1
    floor: float | None = None
    repeats: int = 7
    more: Mapping[str, Work] = field(default_factory=dict)
    weigh: Callable[[Any], float] | None = None
    result: Callable[[Any], Any] = lambda given: given

    @property
    def sides(self) -> dict[str, Work]:
        return {"hand": self.hand, "plait": self.plait, **self.more}


@dataclass(frozen=True)
class Sample:
    """What one side cost over all repeats, in the metric's unit and per piece."""

    values: Sequence[float]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def spread(self) -> float:
        """The interquartile range."""
        if len(self.values) < 2:
            return 0.0
        first, _, third = quantiles(self.values, n=4, method="inclusive")
        return third - first


@dataclass(frozen=True)
class Row:
    """A measured case."""

    case: Case
    samples: Mapping[str, Sample]

    @property
    def ratio(self) -> float:
        """Of the medians: Plait to the work by hand, or to the floor."""
        return self.ratio_of("plait")

    def ratio_of(self, side: str) -> float:
        base = self.samples["hand"].median if self.case.floor is None else self.case.floor
        return self.samples[side].median / base

    def to_plain(self) -> dict[str, Any]:
        return {
            "case": self.case.name,
            "unit": UNITS[self.case.metric],
            "target": self.case.target,
            "floor": self.case.floor,
            "ratio": round(self.ratio, 4),
            "sides": {
                name: {
                    "median": round(sample.median, 4),
                    "iqr": round(sample.spread, 4),
                    "ratio": round(self.ratio_of(name), 4),
                    "values": [round(value, 4) for value in sample.values],
                }
                for name, sample in self.samples.items()
            },
        }


async def check(case: Case) -> None:
    """Run each side once. Raises AssertionError when their results differ."""
    results = {name: case.result(await work()) for name, work in case.sides.items()}
    for name, result in results.items():
        assert result == results["hand"], f"{case.name}: {name} gave {result!r}, hand {results['hand']!r}"


async def measure(case: Case) -> Row:
    """Check the results, then run the sides in turn, `repeats` times, each time in the other order."""
    await check(case)
    values: dict[str, list[float]] = {name: [] for name in case.sides}
    for number in range(case.repeats):
        order = list(case.sides.items())
        for name, work in order if number % 2 else reversed(order):
            values[name].append(await _cost(case, work) / case.per)
    return Row(case, {name: Sample(tuple(found)) for name, found in values.items()})


async def _cost(case: Case, work: Work) -> float:
    gc.collect()
    clock = time.process_time if case.metric == "cpu" else time.perf_counter
    start = clock()
    result = await work()
    spent_ms = 1000 * (clock() - start)
    return spent_ms if case.weigh is None else case.weigh(result)


HEADER = ("case", "unit", "by hand", "± iqr", "plait", "± iqr", "ratio", "target", "")


def table(rows: Sequence[Row]) -> str:
    """The rows as text: medians, interquartile ranges, ratios, and whether the target is met."""
    lines = [HEADER, *(line for row in rows for line in _lines(row))]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEADER))]
    return "\n".join(_padded(line, widths) for line in (lines[0], tuple("-" * w for w in widths), *lines[1:]))


def _lines(row: Row) -> list[tuple[str, ...]]:
    hand, plait, case = row.samples["hand"], row.samples["plait"], row.case
    aim = "" if case.target is None else f"{case.target:.2f}"
    mark = "" if case.target is None else "ok" if row.ratio <= case.target else "MISSED"
    costs = (f"{hand.median:.2f}", f"{hand.spread:.2f}", f"{plait.median:.2f}", f"{plait.spread:.2f}")
    lines: list[tuple[str, ...]] = [(case.name, UNITS[case.metric], *costs, f"{row.ratio:.2f}", aim, mark)]
    if case.floor is not None:
        lines.append(_aside(f"by hand, beside the {case.floor:.0f} at least", row, "hand"))
    return [*lines, *(_aside(name, row, name) for name in case.more)]


def _aside(told: str, row: Row, side: str) -> tuple[str, ...]:
    sample = row.samples[side]
    costs = (f"{sample.median:.2f}", f"{sample.spread:.2f}")
    return (f"  {told}", UNITS[row.case.metric], *costs, "", "", f"{row.ratio_of(side):.2f}", "", "")


def _padded(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = line
    cells = [first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True))]
    return "  ".join(cells).rstrip()

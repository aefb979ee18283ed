"""Every comparison, in its full and in its quick form."""

from __future__ import annotations

from collections.abc import Iterator

from .dag import dag
from .many import many
from .measure import Case
from .react import durable, react
from .router import prompt_tokens, router


def cases(*, quick: bool = False) -> Iterator[Case]:
    """The cases in the order of the table, each made when it is its turn."""
    repeats = 5 if quick else 9
    for rounds in (10, 50) if quick else (10, 50, 200):
        yield react(rounds, repeats)
        yield react(rounds, repeats, "unit")
    yield router(repeats, runs=10 if quick else 30)
    yield router(repeats, runs=10 if quick else 30, granularity="unit")
    part_s = 0.04 if quick else 0.08  # a critical path of 0.76 or 1.52 seconds
    yield dag(part_s, repeats, saved=False)
    yield dag(part_s, repeats, saved=True)
    yield many(100 if quick else 1_000, repeats)
    yield many(100 if quick else 1_000, repeats, "unit")
    yield prompt_tokens()
    yield from durable(20 if quick else 200, repeats)
    yield from durable(20 if quick else 200, repeats, "unit")

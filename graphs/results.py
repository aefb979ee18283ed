"""Results: what a batch of runs gave, in the order of its tasks."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from ..core.display import Displayed

T = TypeVar("T")


class Results(list[T], Displayed):
    """A list like any other; a notebook shows it as a table with a row for each run."""

    _display: ClassVar[str] = "results:results_bundle"

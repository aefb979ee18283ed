"""What a plain function step may return instead of a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Skip:
    """The step did nothing; what flowed into it flows on."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """End the nearest enclosing loop with `output`, or the workflow when no loop encloses it."""

    output: Any = None

"""A log of what tools did, apart from every checkpoint: what ran, and how often, in all processes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import life
from .jsonlike import as_json


@dataclass(frozen=True, slots=True)
class Happened:
    """One effect: the tool that had it, with what arguments, and what it gave."""

    tool: str
    args: Mapping[str, Any]
    result: Any = None

    @property
    def key(self) -> str:
        """What two effects share that are the same one, done twice."""
        return as_json([self.tool, self.args], sort_keys=True)


class Effects:
    """Where tools write down what they do, in a file that only grows; in memory without a `path`.

    Under `crash_sweep` every run has a fresh log instead, and the process may end right before or
    right after a line is written: the line is the effect. Arguments and results are kept as JSON.

    >>> effects = Effects()
    >>> def pay(order: str) -> str:
    ...     "Pay an order."
    ...     return effects.happen("pay", f"paid {order}", order=order)
    >>> pay("A7")
    'paid A7'
    >>> effects.result("pay", order="A7")
    'paid A7'
    >>> effects.result("pay", order="B1")
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._held: list[Happened] = []

    def happen(self, tool: str, result: Any = None, /, **args: Any) -> Any:
        """The effect of `tool` for these arguments. Returns `result`."""
        living = life.current()
        if living is not None:
            living.reach(f"before the effect of {tool}")
        self._add(Happened(tool, args, result), self._path if living is None else living.effects)
        if living is not None:
            living.reach(f"after the effect of {tool}")
        return result

    def result(self, tool: str, /, **args: Any) -> Any:
        """What the last such effect gave, or None when it never happened: what a probe wants to know."""
        wanted = Happened(tool, args).key
        return next((done.result for done in reversed(self.all()) if done.key == wanted), None)

    def all(self) -> list[Happened]:
        """Every effect so far, in order."""
        living = life.current()
        path = self._path if living is None else living.effects
        return list(self._held) if path is None else read_effects(path)

    def _add(self, done: Happened, path: Path | None) -> None:
        if path is None:
            self._held.append(done)
            return
        line = as_json({"tool": done.tool, "args": done.args, "result": done.result})
        opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(opened, f"{line}\n".encode())  # one call, so that lines of several processes never mix
        finally:
            os.close(opened)


def read_effects(path: Path) -> list[Happened]:
    """The effects in a log; none when there is no file yet."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Happened(**json.loads(line)) for line in lines]

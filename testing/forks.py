"""Processes forked from a warm one: each does one thing, says one thing, and is gone."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

Tell = Callable[[Any], None]
"""Says a JSON value to the parent; what is said last counts."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a forked process ended: its exit status, what it said, and its traceback when it failed."""

    status: int
    said: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Fork:
    """A forked process under way."""

    pid: int
    reader: int

    def ended(self, timeout_s: float) -> Ended:
        """Wait for the end. A process that takes longer is killed, and says so as its error."""
        deadline, held, late = time.monotonic() + timeout_s, b"", False
        while not late:
            ready, _, _ = select.select([self.reader], [], [], max(0.0, deadline - time.monotonic()))
            late = not ready
            if ready:
                piece = os.read(self.reader, 1 << 16)
                if not piece:
                    break
                held += piece
        if late:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.reader)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        lines = [] if late else [json.loads(line) for line in held.decode().splitlines()]
        said = next((line["said"] for line in reversed(lines) if "said" in line), None)
        error = next((line["error"] for line in lines if "error" in line), "")
        return Ended(status, said, f"did not end within {timeout_s:g} s" if late else error)


def fork(work: Callable[[Tell], None], log: Path) -> Fork:
    """Start `work` in a fork of this process. What it prints goes to `log`."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: they are idle, and gone in the fork
        pid = os.fork()
    if pid == 0:
        _live(work, reader, writer, log)
    os.close(writer)
    return Fork(pid, reader)


def _live(work: Callable[[Tell], None], reader: int, writer: int, log: Path) -> NoReturn:
    """The forked process, from its first moment to its last: nothing of the parent's runs in it."""
    status = 1

    def say(**line: Any) -> None:
        held = (json.dumps(line, default=repr) + "\n").encode()
        while held:
            held = held[os.write(writer, held) :]

    try:
        os.close(reader)
        opened = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(opened, 1)
        os.dup2(opened, 2)
        work(lambda said: say(said=said))
        status = 0
    except BaseException:
        say(error=traceback.format_exc())
    finally:
        os._exit(status)

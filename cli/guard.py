"""How commands end: every error as one red block, and the exit status that it means."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from ..core.errors import DefinitionError, MissingExtra, PlaitError
from .status import DONE, FAILED, INTERRUPTED, USAGE
from .told import error_console, print_error

P = ParamSpec("P")

DEBUG = "--debug"


class Usage(PlaitError):
    """Something about the command line itself is wrong."""


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """A command that ends with the status it returns, or with that of the error it raises."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        raise typer.Exit(_status(lambda: command(*args, **kwargs)))

    return run


def _status(work: Callable[[], int]) -> int:
    try:
        return work()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        silence()
        return DONE
    except Exception as error:
        if DEBUG in sys.argv:
            raise
        print_error(error if isinstance(error, PlaitError) else _strange(error), error_console())
        return USAGE if isinstance(error, DefinitionError | MissingExtra | Usage) else FAILED


def silence() -> None:
    """Say nothing more on standard output: whoever read it has left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _strange(error: Exception) -> PlaitError:
    return PlaitError(f"{type(error).__name__}: {error}\n{DEBUG} shows where: plait {DEBUG} …")

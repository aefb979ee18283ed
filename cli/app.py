"""The commands of `plait`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from .checking import check, draw
from .dev import dev
from .new import new
from .running import resume, run
from .status import MEANINGS
from .testing import run_cases
from .threads import fork, show, steer, threads

EXIT = "  \n".join(f"{status}  {meaning}" for status, meaning in MEANINGS.items())

app = typer.Typer(
    name="plait",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog=f"Exit status:  \n{EXIT}",
)


@app.callback()
def plait(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error was raised.")] = False,
) -> None:
    """Agent workflows: run, resume, steer, check, draw and test them.

    FILE is a .yaml file, file.py:attribute or package.module:attribute.
    """


COMMANDS: dict[str, Callable[..., None]] = {
    "run": run,
    "resume": resume,
    "steer": steer,
    "threads": threads,
    "show": show,
    "fork": fork,
    "check": check,
    "draw": draw,
    "test": run_cases,
    "new": new,
    "dev": dev,
}
for name, command in COMMANDS.items():
    app.command(name)(command)


def run_command(args: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    try:
        app(args=sys.argv[1:] if args is None else args)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0

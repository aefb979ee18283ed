"""The `plait` command: `main` is its entry point.

What it is made of (Typer, Rich) comes with the extra `cli`, and is imported when the command runs.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDS = ("typer", "rich")


def main() -> None:
    """Run the command with the arguments of the process and exit with its status."""
    if any(find_spec(name) is None for name in NEEDS):
        print("plait: the command needs the extra `cli`: pip install 'plait[cli]'", file=sys.stderr)
        raise SystemExit(2)
    from .app import run_command

    raise SystemExit(run_command())


__all__ = ["main"]

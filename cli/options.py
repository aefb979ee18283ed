"""Options that several commands have, and how they read a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

import typer

T = TypeVar("T")

Store = Annotated[
    str | None,
    typer.Option(
        help="Where threads are kept: sqlite:///FILE or postgresql://…; .plait/threads.db unless given."
    ),
]
Model = Annotated[str | None, typer.Option(help="A chat model instead of the workflow's: provider:model.")]
Context = Annotated[list[str] | None, typer.Option(help="The run's context: KEY=VALUE, JSON or @FILE.")]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable: one JSON object a line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but the output.")]
Names = Annotated[list[str], typer.Argument(metavar="[FILE] THREAD", help="FILE only for unknown threads.")]


def background(work: Coroutine[Any, Any, T]) -> T:
    """Wait for a short piece of work, such as reading a thread."""
    return asyncio.run(work)

"""`draining`: a program's own runs stop in good order when the program is asked to end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..nodes.signals import caught
from .run import Run


@contextmanager
def draining(*runs: Run) -> Iterator[None]:
    """Inside, the first Ctrl-C or SIGTERM drains `runs`, as `Run.drain` does, and the second cancels them.

    >>> async def serve(workflow):
    ...     run = workflow.start("a long task", thread_id="t")
    ...     with draining(run):
    ...         return await run.result()

    When the block ends, the signal takes its usual effect: it ends the program, unless a handler of
    the program's own says otherwise. `Workflow.run_sync` does the same by itself.
    """

    def drain() -> None:
        for run in runs:
            run.brake.drain()

    def cancel() -> None:
        for run in runs:
            run.cancel_soon()

    with caught(drain, cancel):
        yield

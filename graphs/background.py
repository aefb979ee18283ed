"""One event loop in a thread of its own, for callers that cannot await.

Works where a loop is already running, as in a notebook, since it never touches that loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from ..nodes.signals import caught
from .brake import Brake

T = TypeVar("T")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="plait", daemon=True).start()
    return loop


def run_in_background(work: Coroutine[Any, Any, T], brake: Brake | None = None) -> T:
    """Run `work` on the background loop, with the caller's context variables, and wait for it.

    Ctrl-C and SIGTERM use the `brake` of a run, first to drain and then to cancel it; without one they
    cancel the work. Either way they take their usual effect once the work has ended.
    """
    loop, context, finished = _loop(), copy_context(), Future[T]()
    if _current() is loop:
        work.close()
        raise RuntimeError("run_sync was called from the background loop itself; await run(...) there")
    tasks: list[asyncio.Task[T]] = []

    def start() -> None:
        tasks.append(loop.create_task(work, context=context))
        tasks[0].add_done_callback(lambda done: _pass_on(done, finished))

    def cancel() -> None:
        if brake is not None:
            brake.is_cancelling = True
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])

    with caught(cancel if brake is None else brake.drain, cancel):
        loop.call_soon_threadsafe(start)
        return finished.result()


def _current() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _pass_on(done: asyncio.Task[T], finished: Future[T]) -> None:
    if done.cancelled():
        finished.set_exception(asyncio.CancelledError())
    elif error := done.exception():
        finished.set_exception(error)
    else:
        finished.set_result(done.result())

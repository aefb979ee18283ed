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

T = TypeVar("T")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="plait", daemon=True).start()
    return loop


def run_in_background(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on the background loop, with the caller's context variables, and wait for it.

    An interrupt of the waiting thread cancels the work and waits for its end.
    """
    loop, context, finished = _loop(), copy_context(), Future[T]()
    if _current() is loop:
        work.close()
        raise RuntimeError("run_sync was called from the background loop itself; await run(...) there")

    def start() -> None:
        task = loop.create_task(work, context=context)
        task.add_done_callback(lambda done: _pass_on(done, finished))
        finished.task = task  # type: ignore[attr-defined]

    loop.call_soon_threadsafe(start)
    try:
        return finished.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(lambda: finished.task.cancel())  # type: ignore[attr-defined]
        raise


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

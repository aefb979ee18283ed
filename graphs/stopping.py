"""Runs that others ask to stop: whoever shares the store asks, and the process that runs heeds it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal
from uuid import uuid4

from ..core.errors import PlaitError
from ..core.ports import Inbox, StopRequest, ThreadLock
from .brake import Brake

LOOKED_S = 1.0
"""How often a run looks whether it is asked to stop."""

AGAIN_S = 3.0
"""When a run that has not stopped is asked again."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
"""Between two looks whether a run that was asked to stop has stopped."""


@asynccontextmanager
async def stoppable(
    inbox: Inbox | None, thread_id: str, brake: Brake, before: StopRequest | None
) -> AsyncIterator[None]:
    """While the run of this task is under way, stop it when somebody asks for that; `before` is what was
    asked of a former run."""
    running = asyncio.current_task()
    if inbox is None or running is None:
        yield
        return
    looking = asyncio.ensure_future(_look(inbox, thread_id, brake, running, before))
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _look(
    inbox: Inbox, thread_id: str, brake: Brake, running: asyncio.Task[object], before: StopRequest | None
) -> None:
    while True:
        await asyncio.sleep(LOOKED_S)
        asked = await stop_asked(inbox, thread_id)
        if asked is None or asked == before:
            continue
        before = asked
        if asked.how == "drain":
            brake.drain()
        elif not brake.is_cancelling:
            brake.is_cancelling = True
            running.cancel()


async def stop_asked(inbox: Inbox | None, thread_id: str) -> StopRequest | None:
    """What was asked last; none where that cannot be told."""
    if inbox is None:
        return None
    try:
        return await inbox.stop_asked(thread_id)
    except Exception:  # a run is worth more than the ear for those who would stop it
        logging.getLogger("plait").exception("thread %r: whether it is to stop cannot be read", thread_id)
        return None


async def stopped(
    inbox: Inbox, lock: ThreadLock, thread_id: str, how: Literal["cancel", "drain"], timeout_s: float
) -> bool:
    """Ask the run of a thread to stop, and wait until it has; False when none was under way.

    One that begins at this moment may miss it, and so is asked again. Raises PlaitError when it has not
    stopped in time.
    """
    if not await lock.is_held(thread_id):
        return False
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                await inbox.ask_to_stop(thread_id, StopRequest(str(uuid4()), how))
                if await _is_free(lock, thread_id, AGAIN_S):
                    return True
    except TimeoutError as error:
        told = f"thread {thread_id!r}: its run was asked to {how} and is not at its end after"
        raise PlaitError(f"{told} {timeout_s:g} s; it stops as soon as it can, so look again") from error


async def _is_free(lock: ThreadLock, thread_id: str, wait_s: float) -> bool:
    """Whether nobody holds the thread by the end of some seconds."""
    until, pause_s = time.monotonic() + wait_s, FIRST_PAUSE_S
    while await lock.is_held(thread_id):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    return True

"""Ctrl-C and SIGTERM as orderly stops: the first lets a run come to a point where it can be resumed,
the second stops it at once. What the signal usually does is done when the run has ended.

Source: uvicorn delivers the signals it has caught again once it has shut down.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def caught(drain: Callable[[], None], cancel: Callable[[], None]) -> Iterator[None]:
    """Inside, the first signal calls `drain` and every later one `cancel`; both are called from a signal
    handler. At the end the handlers that were there before are back, and get the first signal.

    Python handles signals in its main thread only, so in another thread nothing is caught.
    """
    received: list[int] = []

    def handle(number: int, _: FrameType | None) -> None:
        received.append(number)
        (drain if len(received) == 1 else cancel)()

    before = {number: signal.getsignal(number) for number in SIGNALS} if _is_main() else {}
    taken = {number: own for number, own in before.items() if own not in (None, signal.SIG_IGN)}
    for number in taken:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, own in taken.items():
            signal.signal(number, own)
        if received:
            signal.raise_signal(received[0])


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()

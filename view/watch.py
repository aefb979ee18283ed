"""`await watch(run)`: a run in a notebook, shown while it goes on.

The cell's output is updated in place, a few times a second, by a task that reads the run's events. The
run does not wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from ..core.events import Event
from ..graphs.result import RunResult
from ..graphs.run import Run
from .drawing import Drawing
from .live import LiveTree
from .progress import progress_bundle

EVERY_S, IDLE_S = 0.2, 1.0
"""How often the picture is made anew at most, and how often when nothing but time has passed."""

Out = TypeVar("Out")
Screen = Callable[[dict[str, str]], None]
"""Shows a bundle in the place of the one before."""


async def watch(run: Run[Out]) -> RunResult[Out]:
    """Show a run until it has ended, and return its result. Outside a notebook it only waits.

    Raises what `run.result()` raises; a screen that fails is logged. To stop the cell stops the watching;
    `run.cancel()` stops the run.
    """
    screen = notebook_screen()
    if screen is not None:
        await _followed(run, screen)
    return await run.result()


def show(run: Run[Any]) -> None:
    """Begin to show a run on the running loop, and return at once; outside a notebook, and where no loop
    runs, print it."""
    screen = notebook_screen()
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        screen = None
    if screen is None:
        print(repr(run))
    else:
        run.viewers.add(loop.create_task(_followed(run, screen)))


async def _followed(run: Run[Any], screen: Screen) -> None:
    try:
        await follow(run, screen)
    except Exception:  # the run is worth more than its picture
        logging.getLogger("plait").exception("run %r can no longer be shown", run.thread_id)


async def follow(run: Run[Any], screen: Screen) -> None:
    """Show a run on `screen`, up to how it ended; what its `result` raises is not raised here."""
    drawing = Drawing(run.flow) if run.flow is not None else None
    tree = LiveTree() if run.flow is None else LiveTree.of(run.flow)
    news: list[Event] = []
    reader = asyncio.create_task(_read(run, news))
    shown_s = 0.0
    try:
        while True:
            ended, _ = await asyncio.wait({reader}, timeout=EVERY_S)
            tree, has_news = tree.after(*news), bool(news)
            news.clear()
            if has_news or ended or time.time() - shown_s > IDLE_S:
                shown_s = time.time()
                screen(progress_bundle(tree, drawing, shown_s))
            if ended:
                break
    finally:
        reader.cancel()
    if not reader.cancelled():
        reader.exception()  # `result` raises it, for whoever asks


async def _read(run: Run[Any], news: list[Event]) -> None:
    async for event in run.events():
        news.append(event)


def notebook_screen() -> Screen | None:
    """A place in the output of the notebook cell that runs now; None where there is no notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is None or getattr(shell, "kernel", None) is None:
        return None
    places: list[Any] = []

    def screen(bundle: dict[str, str]) -> None:
        if places:
            places[0].update(bundle, raw=True)
        else:
            places.append(ipython.display.display(bundle, raw=True, display_id=True))

    return screen

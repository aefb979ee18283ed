"""Where a run is shown while it goes on: as a tree on a terminal, as lines in a pipe, as JSON, or nowhere."""

from __future__ import annotations

from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ..core.events import Event
from ..view.live import LiveTree
from .lines import line_of
from .screen import screen
from .told import as_json


class Display(Protocol):
    """Shows one run. `tree` is the run so far."""

    def __enter__(self) -> Display: ...

    def __exit__(self, *_: object) -> None: ...

    def take(self, event: Event, tree: LiveTree) -> None:
        """One event has happened."""

    def tick(self, tree: LiveTree, now: float, head: str, note: str) -> None:
        """A moment has passed; `now` is seconds since the epoch, `head` what stands above, `note` below."""


class Quiet:
    """Shows nothing."""

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def take(self, event: Event, tree: LiveTree) -> None:
        return None

    def tick(self, tree: LiveTree, now: float, head: str, note: str) -> None:
        return None


class JsonLines(Quiet):
    """Every event as a line of JSON on standard output."""

    def take(self, event: Event, tree: LiveTree) -> None:
        print(as_json(event.to_plain()), flush=True)


class PlainLines(Quiet):
    """A line for what begins and ends."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def take(self, event: Event, tree: LiveTree) -> None:
        if (line := line_of(event, tree)) is not None:
            self._console.print(line, markup=False, highlight=False)


class OnTerminal(Quiet):
    """The tree, drawn anew in its place; the whole of it stays when the run has ended."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._last: tuple[LiveTree, float, str] | None = None

    def __enter__(self) -> Display:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        if self._last is not None:
            tree, now, head = self._last
            self._console.print(screen(tree, now, self._console.width, head=head), soft_wrap=False)

    def tick(self, tree: LiveTree, now: float, head: str, note: str) -> None:
        self._last = tree, now, head
        size = self._console.size
        shown = screen(tree, now, size.width, size.height - bool(note), head)
        below = [Text(note, "bold yellow")] if note else []
        self._live.update(Group(shown, *below), refresh=True)


def display_for(console: Console, *, json: bool, quiet: bool) -> Display:
    """What suits where `console` leads."""
    if json:
        return JsonLines()
    if quiet:
        return Quiet()
    return OnTerminal(console) if console.is_terminal else PlainLines(console)

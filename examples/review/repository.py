"""The repository under review as tools: they read only inside it, and only so much."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field
from pydantic.dataclasses import dataclass

from plait import ToolRuntime

SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "dist", "build", "site-packages"})
MOST_BYTES = 300_000
MOST_LINES = 400
MOST_CHARACTERS = 12_000
MOST_FILES = 1_000
MOST_HITS = 30


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder to read in. Hidden files are not shown: they are where keys lie."""

    root: Path = Field(
        default=Path(),
        description="the folder of the repository after the change; nothing outside it is read",
    )

    def read(self, path: str, start: int = 1) -> str:
        """Lines of a file from `start` on, each with its number. Raises ValueError with the reason."""
        lines = self._text(self._file(path)).splitlines()
        first = max(start, 1)
        shown: list[str] = []
        size = 0
        for number, line in enumerate(lines[first - 1 : first - 1 + MOST_LINES], start=first):
            shown.append(f"{number:>5} |{line[:500]}")
            size += len(shown[-1])
            if size > MOST_CHARACTERS:
                break
        last = first + len(shown) - 1
        return (
            "\n".join([*shown, f"[{len(lines) - last} more lines]"] if last < len(lines) else shown)
            or "(nothing there)"
        )

    def search(self, text: str) -> str:
        """The lines that hold `text`, as `path:line: text`."""
        if not text.strip():
            raise ValueError("give some text to search for")
        hits: list[str] = []
        for file in self._files():
            name = file.relative_to(self._top).as_posix()
            for number, line in enumerate(self._text(file).splitlines(), start=1):
                if text in line:
                    hits.append(f"{name}:{number}: {line.strip()[:200]}")
                if len(hits) == MOST_HITS:
                    return "\n".join([*hits, "[there may be more]"])
        return "\n".join(hits) or "nothing found"

    def files(self) -> str:
        """The paths of the files."""
        return "\n".join(file.relative_to(self._top).as_posix() for file in self._files()) or "(no files)"

    @property
    def _top(self) -> Path:
        return self.root.resolve()

    def _file(self, path: str) -> Path:
        """The file at `path`, links followed."""
        try:
            found = (self._top / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(f"{path!r} is no path: {error}") from error
        if not found.is_relative_to(self._top):
            raise ValueError(f"{path!r} is outside the repository")
        if any(part.startswith(".") for part in found.relative_to(self._top).parts):
            raise ValueError(f"{path!r} is hidden and is not shown")
        if not found.is_file():
            raise ValueError(f"there is no file {path!r}")
        return found

    def _text(self, file: Path) -> str:
        with file.open("rb") as opened:
            held = opened.read(MOST_BYTES)
        return "(a binary file)" if b"\0" in held else held.decode("utf-8", "replace")

    def _files(self) -> Iterator[Path]:
        count = 0
        for folder, names, files in os.walk(self._top):
            names[:] = sorted(name for name in names if name not in SKIPPED and not name.startswith("."))
            for name in sorted(files):
                path = Path(folder, name)
                is_ours = (
                    not name.startswith(".") and path.is_file() and path.resolve().is_relative_to(self._top)
                )
                if is_ours and count < MOST_FILES:
                    count += 1
                    yield path


def read_file(path: str, runtime: ToolRuntime, start: int = 1) -> str:
    """Read a file of the repository, with line numbers, from line `start` on."""
    return _repository(runtime).read(path, start)


def search(text: str, runtime: ToolRuntime) -> str:
    """Find the lines of the repository's files that hold exactly this text."""
    return _repository(runtime).search(text)


def list_files(runtime: ToolRuntime) -> str:
    """List the repository's files."""
    return _repository(runtime).files()


def _repository(runtime: ToolRuntime) -> Repository:
    if not isinstance(runtime.context, Repository):
        raise ValueError("no repository was given; judge by the diff alone")
    return runtime.context

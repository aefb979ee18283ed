"""A unified diff, read exactly, and shown with the line numbers of the new files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$")
_SHOWN = re.compile(r"^ *(\d*) ([+ -])\|(.*)$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a changed file; `number` is its place in the new file, 0 when it was taken away."""

    number: int
    sign: str
    text: str

    @property
    def is_added(self) -> bool:
        return self.sign == "+"


@dataclass(frozen=True, slots=True)
class FileChange:
    """What the diff shows of one file, hunk after hunk."""

    path: str
    lines: tuple[Line, ...]

    @property
    def added(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.is_added)


def read_diff(text: str) -> list[FileChange]:
    """The changed files of a unified diff; files that were deleted, or hold no text, are left out.

    Raises ValueError when there is no change in it.
    """
    changes: dict[str, list[Line]] = {}
    rows = iter(text.splitlines())
    path = ""
    for row in rows:
        if row.startswith("+++ "):
            path = _path(row[4:])
        elif path and (hunk := _HUNK.match(row)):
            changes.setdefault(path, []).extend(_hunk(rows, hunk))
        elif row.startswith("diff --git "):
            path = ""
    found = [FileChange(path, tuple(lines)) for path, lines in changes.items() if lines]
    if not found:
        raise ValueError("this is no unified diff with changed lines")
    return found


def _path(written: str) -> str:
    name = written.split("\t")[0].strip()
    if name.startswith('"') and name.endswith('"'):
        name = (
            name[1:-1]
            .encode("latin-1", "replace")
            .decode("unicode_escape")
            .encode("latin-1")
            .decode("utf-8", "replace")
        )
    return "" if name == "/dev/null" else name.removeprefix("b/")


def _hunk(rows: Iterator[str], head: re.Match[str]) -> Iterator[Line]:
    """The lines of one hunk, as many as its head announces."""
    old, new = int(head[1] or 1), int(head[3] or 1)
    number = int(head[2])
    while old > 0 or new > 0:
        row = next(rows, None)
        if row is None:
            return
        sign, text = (row[:1] or " "), row[1:]
        if sign == "\\":
            continue
        old -= sign in " -"
        new -= sign in " +"
        yield Line(number if sign != "-" else 0, sign, text)
        number += sign != "-"


def numbered(changes: list[FileChange]) -> str:
    """The changes as a reviewer is given them: each line with its number in the new file.

    >>> print(numbered([FileChange("a.py", (Line(7, "+", "x = 1"),))]))
    File a.py
        7 +|x = 1
    """
    return "\n\n".join("\n".join([f"File {change.path}", *map(_row, change.lines)]) for change in changes)


def _row(line: Line) -> str:
    return f"{line.number or '':>5} {line.sign}|{line.text}"


def read_numbered(text: str) -> list[FileChange]:
    """The changes in a text that `numbered` made, or in a diff; what else stands in it is passed over."""
    changes: dict[str, list[Line]] = {}
    path = ""
    for row in text.splitlines():
        if row.startswith("File "):
            path = row.removeprefix("File ")
        elif path and (shown := _SHOWN.match(row)):
            changes.setdefault(path, []).append(Line(int(shown[1] or 0), shown[2], shown[3]))
    found = [FileChange(path, tuple(lines)) for path, lines in changes.items()]
    return found or (read_diff(text) if "\n@@ -" in text else [])

"""What is wrong with a file: each fault with its code, its place and the nearest right word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from ..core.errors import DefinitionError, Fault

Code = Literal[
    "syntax",
    "encoding",
    "too-large",
    "too-deep",
    "tag",
    "alias",
    "duplicate-key",
    "documents",
    "empty",
    "environment",
    "include",
    "file",
    "wrong-type",
    "bad-value",
    "unknown-key",
    "missing-key",
    "unknown-name",
    "duplicate-id",
    "unused-unit",
    "bad-path",
    "import-failed",
    "definition",
    "model",
]
CODES: Mapping[Code, str] = {
    "syntax": "the text is no YAML",
    "encoding": "the file is not UTF-8",
    "too-large": "more than a megabyte, or more values than a workflow can need",
    "too-deep": "lists and mappings nested deeper than 64",
    "tag": "a YAML tag, which could make objects",
    "alias": "an alias that names nothing above it, or itself",
    "duplicate-key": "a key that stands twice",
    "documents": "several documents in one file",
    "empty": "no document",
    "environment": "a variable that is not set and has no default",
    "include": "a file that cannot be included",
    "file": "a file that cannot be read",
    "wrong-type": "a text where a number is due, and the like",
    "bad-value": "a value that is none of those there are",
    "unknown-key": "a key that there is not",
    "missing-key": "a key that must be there",
    "unknown-name": "a unit that there is not",
    "duplicate-id": "two units of one id",
    "unused-unit": "a unit that stands in no flow",
    "bad-path": "a text that is no import path",
    "import-failed": "a module or name that cannot be imported",
    "definition": "a flow or unit that cannot run as it is",
    "model": "a model that cannot be made",
}
"""What can be wrong, by its code."""


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in a file; line and column count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing wrong with a file. `path` is where it stands in the document, as `spec.units[0].prompt`;
    `hint` is what was meant, perhaps."""

    code: Code
    message: str
    file: str = "<text>"
    line: int = 1
    column: int = 1
    path: str = ""
    hint: str = ""

    def __str__(self) -> str:
        meant = f" (did you mean {self.hint}?)" if self.hint else ""
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message}{meant}"


def diagnostic(code: Code, message: str, place: Place, path: str = "", hint: str = "") -> Diagnostic:
    return Diagnostic(code, message, place.file, place.line, place.column, path, hint)


class SpecError(DefinitionError):
    """A file that holds no workflow that can run. `diagnostics` says all that is wrong with it."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__([Fault(one.path, str(one)) for one in self.diagnostics])
        self.args = ("\n".join(str(one) for one in self.diagnostics),)

    def __reduce__(self) -> Any:
        return SpecError, (self.diagnostics,)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like `word`, or nothing."""
    near = get_close_matches(word[:100], list(known)[:200], 1, 0.6)
    return near[0] if near else ""


def listed(words: Iterable[str], most: int = 40) -> str:
    """Words as a text shows them, not more than it can bear."""
    given = list(words)
    more = f", and {len(given) - most} more" if len(given) > most else ""
    return ", ".join(given[:most]) + more

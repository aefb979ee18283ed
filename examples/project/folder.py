"""A project's folder as three tools. They read only inside it, and only so much."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = (".md", ".rst", ".txt", ".adoc")
SKIPPED = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "site-packages"}
)
MOST_FILES = 400
MOST_BYTES = 300_000
MOST_CHARACTERS = 6_000
MOST_HITS = 8
_TARGET = re.compile(r"^([A-Za-z][\w.-]*)[ \t]*:(?!=)[^\n]*\n((?:\t[^\n]*\n?)*)", re.M)


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder asked about. What a tool raises is told to the model."""

    root: Path = Path()

    @property
    def tools(self) -> list[Callable[..., Any]]:
        return [self.search_docs, self.read_doc, self.read_package_script]

    def search_docs(self, query: str) -> str:
        """Find lines in the project's documents that hold words of the query; the best come first."""
        words = {word for word in re.findall(r"\w+", query.casefold()) if len(word) > 1}
        found: list[tuple[int, str]] = []
        for path in self._documents():
            for number, line in enumerate(self._text(path).splitlines(), start=1):
                score = sum(word in line.casefold() for word in words)
                if score:
                    found.append(
                        (-score, f"{path.relative_to(self._top).as_posix()}:{number}: {line.strip()[:200]}")
                    )
        best = [line for _, line in sorted(found, key=lambda hit: hit[0])[:MOST_HITS]]
        return "\n".join(best) or "nothing found"

    def read_doc(self, path: str, start: int = 1) -> str:
        """Read a document of the project from line `start` on, a few thousand characters at a time."""
        lines = self._text(self._inside(path)).splitlines()[max(start, 1) - 1 :]
        text = "\n".join(lines)
        if len(text) <= MOST_CHARACTERS:
            return text or "(nothing there)"
        shown = text[:MOST_CHARACTERS].rpartition("\n")[0] or text[:MOST_CHARACTERS]
        return f"{shown}\n[more from line {max(start, 1) + shown.count(chr(10)) + 1} on]"

    def read_package_script(self, name: str = "") -> str:
        """Show a script of package.json, pyproject.toml or the Makefile; without a name, list them all."""
        scripts = dict(self._scripts())
        if not scripts:
            return "the project declares no scripts"
        if not name:
            return "\n".join(scripts)
        if name not in scripts:
            raise ValueError(f"there is no script {name!r}; there are: {', '.join(scripts)}")
        return f"{name}: {scripts[name]}"[:MOST_CHARACTERS]

    @property
    def _top(self) -> Path:
        return self.root.resolve()

    def _inside(self, path: str) -> Path:
        """The file at `path`. Raises ValueError for what is outside the folder, also through links."""
        try:
            found = (self._top / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(f"{path!r} is no path: {error}") from error
        if not found.is_relative_to(self._top):
            raise ValueError(f"{path!r} is outside the project")
        if not found.is_file():
            raise ValueError(f"there is no file {path!r}")
        return found

    def _text(self, path: Path) -> str:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")

    def _documents(self) -> Iterator[Path]:
        count = 0
        for folder, names, files in os.walk(self._top):
            names[:] = sorted(name for name in names if name not in SKIPPED and not name.startswith("."))
            for file in sorted(files):
                path = Path(folder, file)
                if (
                    path.suffix.lower() in DOCS
                    and path.resolve().is_relative_to(self._top)
                    and path.is_file()
                ):
                    yield path
                    count += 1
                    if count == MOST_FILES:
                        return

    def _scripts(self) -> Iterator[tuple[str, str]]:
        yield from _strings(self._loaded("package.json", json.loads).get("scripts"))
        yield from _strings(self._loaded("pyproject.toml", tomllib.loads).get("project", {}).get("scripts"))
        for name, recipe in _TARGET.findall(self._source("Makefile")):
            yield name, " ; ".join(line.strip() for line in recipe.splitlines()) or "(no recipe)"

    def _source(self, name: str) -> str:
        try:
            return self._text(self._inside(name))
        except ValueError:
            return ""

    def _loaded(self, name: str, load: Callable[[str], Any]) -> dict[str, Any]:
        try:
            loaded = load(self._source(name))
        except ValueError:
            return {}
        return loaded if isinstance(loaded, dict) else {}


def _strings(found: Any) -> Iterator[tuple[str, str]]:
    for name, value in found.items() if isinstance(found, dict) else ():
        yield str(name), str(value)

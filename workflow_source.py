"""Where the YAML form's files come from: the disk, the environment, and the code beside them."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .spec.diagnostics import Diagnostic, Place, diagnostic
from .spec.imports import Importer, Unimportable, imported
from .spec.include import Includes
from .spec.source import DEEPEST, LARGEST, Read, read_bytes, read_text
from .spec.tree import Node


@dataclass(frozen=True)
class Source:
    """A file with all that it includes, as a tree; the folder is where code beside it is looked for."""

    name: str
    root: Node | None
    faults: tuple[Diagnostic, ...]
    folder: Path | None


def read_source(path: Path) -> Source:
    """The tree of a file. What is wrong with it, even that it is not there, is among the faults."""
    name = str(path)
    try:
        data = _content(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Source(name, None, (diagnostic("file", f"the file cannot be read: {why}", Place(name)),), None)
    return _whole(read_bytes(data, name, os.environ), name, path.resolve().parent)


def source_of_text(text: str, name: str) -> Source:
    return _whole(read_text(text, name, os.environ), name, None)


def _whole(read: Read, name: str, folder: Path | None) -> Source:
    if read.root is None:
        return Source(name, None, read.faults, folder)
    includes = Includes(_opened, os.environ)
    root: Node = includes.whole(read.root, (name,))
    if root.height > DEEPEST + 1:
        told = f"with what it includes it is nested deeper than {DEEPEST}"
        includes.faults.append(diagnostic("too-deep", told, root.place))
        return Source(name, None, (*read.faults, *includes.faults), folder)
    return Source(name, root, (*read.faults, *includes.faults), folder)


def _opened(including: str, named: str) -> tuple[str, bytes]:
    """The file that `named` is, seen from the including one. Raises OSError."""
    path = Path(os.path.normpath(Path(including).parent / named))
    return str(path), _content(path)


def _content(path: Path) -> bytes:
    """A file's content, cut where it is too large in any case. Raises OSError for what is no file."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(0, "it is no regular file")
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def importer_beside(folder: Path | None) -> Importer:
    """Finds import paths, also in modules that lie in `folder`, which stays on the module path."""

    def found(path: str) -> Any:
        if folder is None:
            return imported(path)
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        top = path.partition(":")[0].partition(".")[0]
        try:
            value = imported(path)
        except Unimportable:
            _check_is_ours(top, folder)
            raise
        _check_is_ours(top, folder)
        return value

    return found


def _check_is_ours(name: str, folder: Path) -> None:
    """Raise Unimportable when a module of the folder is hidden by another one of its name."""
    here = next(
        (one for one in (folder / f"{name}.py", folder / name / "__init__.py") if one.is_file()), None
    )
    if here is None or name not in sys.modules:
        return
    loaded = getattr(sys.modules[name], "__file__", None)
    if loaded is None or Path(loaded).resolve() != here.resolve():
        known = loaded or "built into Python"
        raise Unimportable(f"module {name!r} is {known}, which hides {here} beside the file; rename that")

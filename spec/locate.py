"""From the faults of a definition, told by path, to places in the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import Fault
from ..graphs.flow import walk
from ..nodes.unit import WorkflowUnit
from .diagnostics import Diagnostic, Place, diagnostic
from .kinds import Book
from .record import named_place, subject
from .tree import Node

Known = tuple[Node, str]
"""A node with its path in the document."""


class Located:
    """Where the parts of a flow stand in a file, by their paths. Several may share a path, as a loop and
    its only unit do; outer ones come first."""

    def __init__(self, flow: Any, book: Book, root: Node) -> None:
        self._book, self._root = book, root
        self._by_path: dict[str, list[Known]] = {}
        self._spoiled: set[str] = set()
        for path, part in walk(flow):
            self._add(path, part)

    def told(self, faults: Sequence[Fault]) -> list[Diagnostic]:
        """The faults as diagnostics; those that follow from what was told before are left out."""
        return [self._diagnostic(fault) for fault in faults if fault.path not in self._spoiled]

    def _add(self, path: str, part: Any) -> None:
        known = self._book.places.get(id(part)) or self._of_variant(part)
        if known is None:
            return
        keys = [path] if path else ["", str(getattr(part, "id", None) or getattr(part, "type", ""))]
        for key in keys:
            self._by_path.setdefault(key, []).append((known[1], known[2]))
            if id(known[0]) in self._book.spoiled:
                self._spoiled.add(key)

    def _of_variant(self, part: Any) -> tuple[Any, Node, str] | None:
        """The place of the unit that a flow has made this one of, as a router does for its labels."""
        if not isinstance(part, WorkflowUnit):
            return None
        places = self._book.places.values()
        return next((known for known in places if getattr(known[0], "id", None) == part.id), None)

    def _diagnostic(self, fault: Fault) -> Diagnostic:
        path = fault.path
        while path and path not in self._by_path:
            path = path.rpartition("/")[0]
        here = self._by_path.get(path) or [(self._root, "spec")]
        around = self._by_path.get(path.rpartition("/")[0], []) if path else []
        told = fault.message if path == fault.path else f"{fault.path}: {fault.message}"
        for node, where in (*here, *around, (self._root, "spec")):
            if (place := subject(fault.message, node)) is not None:
                return diagnostic("definition", told, place, where)
        node, where = here[-1]
        named = named_place(fault.message, node)
        return diagnostic("definition", told, named if isinstance(named, Place) else named.place, where)

"""`include: other.yaml`: a mapping that says only this stands for what is in the file; one that says more
takes from the file the keys that it does not have itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from .diagnostics import Code, Diagnostic, Place, diagnostic
from .source import DEEPEST, MOST_NODES, Read, read_bytes
from .tree import Entry, Node, Scalar, Series, Table, series, table

KEY = "include"
ENDINGS = (".yaml", ".yml", ".json")
MOST_FILES = 100

Opener = Callable[[str, str], tuple[str, bytes]]
"""From the including file and the path that it names to the included file's name and content.
Raises OSError."""


@dataclass
class Includes:
    """The files that a document is put together from."""

    opener: Opener
    variables: Mapping[str, str]
    faults: list[Diagnostic] = field(default_factory=list)
    _files: int = 0
    _size: int = 0

    def whole(self, node: Node, stack: tuple[str, ...]) -> Node:
        """`node` with all that it includes; `stack` names the files on the way to it, its own last."""
        if len(stack) == 1:
            self._size = node.size
        if isinstance(node, Series):
            items = [self.whole(item, stack) for item in node.items]
            same = all(new is old for new, old in zip(items, node.items, strict=True))
            return node if same else series(items, node.place)
        if not isinstance(node, Table):
            return node
        entries = [Entry(e.key, self.whole(e.value, stack), e.place) for e in node.entries]
        same = all(new.value is old.value for new, old in zip(entries, node.entries, strict=True))
        made = node if same else table(entries, node.place)
        entry = made.get(KEY)
        is_file = entry is not None and isinstance(entry.value, Scalar) and names_file(entry.value.value)
        return self._included(made, entry, stack) if entry is not None and is_file else made

    def _included(self, node: Table, entry: Entry, stack: tuple[str, ...]) -> Node:
        rest = [one for one in node.entries if one is not entry]
        found = self._read(entry.value, stack)
        if found is None:
            return table(rest, node.place)
        if not rest:
            return found
        if not isinstance(found, Table):
            self._fault("include", "beside other keys only a mapping can be included", entry.value.place)
            return table(rest, node.place)
        own = {one.key for one in rest}
        return table([*rest, *(one for one in found.entries if one.key not in own)], node.place)

    def _read(self, node: Node, stack: tuple[str, ...]) -> Node | None:
        assert isinstance(node, Scalar)
        try:
            name, data = self.opener(stack[-1], str(node.value))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            self._fault("include", f"{node.value!r:.200} cannot be read: {why}", node.place)
            return None
        if name in stack:
            way = " -> ".join(PurePath(file).name for file in (*stack[stack.index(name) :], name))
            self._fault("include", f"files include each other in a circle: {way}", node.place)
            return None
        self._files += 1
        if self._files > MOST_FILES or len(stack) > DEEPEST // 4:
            told = f"there are more than {MOST_FILES} includes, or they go too deep"
            self._fault("include", told, node.place)
            return None
        return self._merged(read_bytes(data, name, self.variables, MOST_NODES - self._size), (*stack, name))

    def _merged(self, read: Read, stack: tuple[str, ...]) -> Node | None:
        self.faults.extend(read.faults)
        if read.root is None:
            return None
        self._size += read.root.size
        return self.whole(read.root, stack)

    def _fault(self, code: Code, message: str, place: Place) -> None:
        """Note a fault."""
        self.faults.append(diagnostic(code, message, place))


def names_file(value: Any) -> bool:
    """Whether what stands behind `include` is a file; anything else is data like any other."""
    return isinstance(value, str) and value.lower().endswith(ENDINGS)

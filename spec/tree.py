"""A file as located nodes: scalars, series and tables, each with the place where it begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .diagnostics import Place


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value. `size` and `height` are those of the tree below a node, itself included."""

    value: Any
    place: Place
    size: int = 1
    height: int = 1


@dataclass(frozen=True, slots=True)
class Series:
    """A list."""

    items: tuple[Node, ...]
    place: Place
    size: int = 1
    height: int = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a table with its value; `place` is the key's."""

    key: str
    value: Node
    place: Place


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping from texts, in the order of the file."""

    entries: tuple[Entry, ...]
    place: Place
    size: int = 1
    height: int = 1

    def get(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key == key), None)


Node = Scalar | Series | Table


def series(items: Sequence[Node], place: Place) -> Series:
    return Series(tuple(items), place, *_measured(items))


def table(entries: Sequence[Entry], place: Place) -> Table:
    return Table(tuple(entries), place, *_measured([entry.value for entry in entries]))


def _measured(below: Sequence[Node]) -> tuple[int, int]:
    size = 1 + sum(node.size for node in below)
    return size, 1 + max((node.height for node in below), default=0)


def plain(node: Node) -> Any:
    """A node as plain data, its places left out."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Series):
        return [plain(item) for item in node.items]
    return {entry.key: plain(entry.value) for entry in node.entries}


def located(value: Any, place: Place) -> Node:
    """Plain data as nodes that all stand at one place."""
    if isinstance(value, Mapping):
        return table([Entry(str(key), located(item, place), place) for key, item in value.items()], place)
    if isinstance(value, list | tuple):
        return series([located(item, place) for item in value], place)
    return Scalar(value, place)


def found(node: Node, steps: Sequence[str | int]) -> Node:
    """The node at `steps` (keys and indexes) below `node`, or the last one on the way to it."""
    for step in steps:
        below = _below(node, step)
        if below is None:
            return node
        node = below
    return node


def _below(node: Node, step: str | int) -> Node | None:
    if isinstance(node, Table):
        entry = node.get(str(step))
        return None if entry is None else entry.value
    if isinstance(node, Series) and str(step).isdecimal() and int(step) < len(node.items):
        return node.items[int(step)]
    return None


def nodes(node: Node) -> Iterator[Node]:
    """The node and all below it, outer ones first."""
    yield node
    below = node.items if isinstance(node, Series) else ()
    for item in (entry.value for entry in node.entries) if isinstance(node, Table) else below:
        yield from nodes(item)

"""From text to located nodes, without recursion and within bounds; what is refused is a diagnostic.

Tags are refused, for they could make objects. Anchors and aliases may be used as long as the whole tree,
with every alias counted as what it stands for, stays within the bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from .diagnostics import Code, Diagnostic, Place, diagnostic
from .environment import Unset, substituted
from .scalars import scalar_value
from .tree import Entry, Node, Scalar, series, table

LARGEST = 1_000_000
"""Bytes a file may have."""
DEEPEST = 64
"""Lists and mappings that may stand inside each other."""
MOST_NODES = 50_000
"""Values that a file with its includes and aliases may have."""
MOST_FAULTS = 200

_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.I)

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Read:
    """What came of a text: its root node if it has one, and what is wrong."""

    root: Node | None
    faults: tuple[Diagnostic, ...] = ()


class _Refused(Exception):
    """Reading cannot go on."""

    def __init__(self, code: Code, message: str, place: Place) -> None:
        super().__init__(message)
        self.fault = diagnostic(code, message, place)


def read_bytes(data: bytes, file: str, variables: Mapping[str, str], nodes: int = MOST_NODES) -> Read:
    """The tree of a file's content; see `read_text`."""
    if len(data) > LARGEST:
        told = f"the file has more than {LARGEST:,} bytes; split it with include:"
        return Read(None, (diagnostic("too-large", told, Place(file)),))
    try:
        return read_text(data.decode("utf-8-sig"), file, variables, nodes)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        told = f"byte {data[error.start]:#04x} is no UTF-8; save the file as UTF-8"
        return Read(None, (diagnostic("encoding", told, Place(file, line, column)),))


def read_text(text: str, file: str, variables: Mapping[str, str], nodes: int = MOST_NODES) -> Read:
    """The tree of a YAML text with `variables` filled in; `nodes` is how many values it may have."""
    if len(text) > LARGEST:
        return read_bytes(text.encode("utf-8", "replace"), file, variables, nodes)
    builder = _Builder(file, variables, nodes)
    try:
        builder.build(_events(_joined(text), file))
    except _Refused as refused:
        return Read(None, (*builder.faults, refused.fault))
    if builder.root is None and not builder.faults:
        builder.faults.append(diagnostic("empty", "the file is empty", Place(file)))
    return Read(builder.root, tuple(builder.faults))


def _events(text: str, file: str) -> Iterator[Any]:
    """The events of the parser; its errors, and texts it cannot take, as refusals."""
    try:
        yield from yaml.parse(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        told = " ".join(part for part in (error.context, error.problem) if part)
        code: Code = "too-deep" if "nesting depth" in told else "syntax"
        if mark and _is_tab(text, mark.line, mark.column):
            told = "there is a tab here; YAML indents with spaces"
        raise _Refused(code, f"this is no YAML: {told}", place) from None
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise _Refused("syntax", f"this is no YAML: {_said(error)}", _odd_place(text, file)) from None


def _is_tab(text: str, line: int, column: int) -> bool:
    """Whether a tab stands at a place, or where its line begins."""
    lines = text.split("\n")
    here = lines[line] if line < len(lines) else ""
    return here[column : column + 1] == "\t" or "\t" in here[: len(here) - len(here.lstrip())]


def _joined(text: str) -> str:
    """JSON with its surrogate pairs written as YAML knows them."""

    def one(pair: re.Match[str]) -> str:
        high, low = int(pair[2], 16), int(pair[3], 16)
        return f"{pair[1]}\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08X}"

    return _PAIR.sub(one, text) if "\\u" in text and text.lstrip()[:1] in ("{", "[") else text


def _said(error: Exception) -> str:
    return getattr(error, "reason", "") or str(error).splitlines()[0]


def _odd_place(text: str, file: str) -> Place:
    """Where the first character stands that no YAML may hold, as far as that is known."""
    for number, line in enumerate(text.split("\n"), 1):
        for column, character in enumerate(line, 1):
            if not character.isprintable() and character not in "\t\r\x85\ufeff\xa0\u2028\u2029\u3000":
                return Place(file, number, column)
    return Place(file)


@dataclass(slots=True)
class _Open:
    """A list or mapping that is being read; `key` waits for its value, `anchor` for its end."""

    place: Place
    is_table: bool
    anchor: str | None
    items: list[Any] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    key: tuple[str, Place] | None = None


class _Builder:
    def __init__(self, file: str, variables: Mapping[str, str], nodes: int) -> None:
        self.root: Node | None = None
        self.faults: list[Diagnostic] = []
        self._file, self._variables, self._left = file, variables, nodes
        self._open: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}
        self._documents = 0

    def build(self, events: Iterator[Any]) -> None:
        for event in events:
            place = Place(self._file, event.start_mark.line + 1, event.start_mark.column + 1)
            if isinstance(event, yaml.NodeEvent):
                self._node(event, place)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close()
            elif isinstance(event, yaml.DocumentStartEvent):
                self._document(place)

    def _document(self, place: Place) -> None:
        self._documents += 1
        if self._documents > 1:
            told = "the file has several documents; put each into a file of its own"
            raise _Refused("documents", told, place)

    def _node(self, event: Any, place: Place) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._put(self._aliased(str(event.anchor), place), place)
            return
        if event.tag is not None:
            self._fault("tag", f"tag {event.tag!r}: tags are refused, for they could make objects", place)
        self._spend(1, place)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, place)
            return
        if len(self._open) >= DEEPEST:
            raise _Refused("too-deep", f"lists and mappings are nested deeper than {DEEPEST}", place)
        if event.anchor:
            self._anchors[event.anchor] = None
        self._open.append(_Open(place, isinstance(event, yaml.MappingStartEvent), event.anchor))

    def _scalar(self, event: Any, place: Place) -> None:
        top = self._open[-1] if self._open else None
        if top is not None and top.is_table and top.key is None:
            self._key(top, event, place)
            return
        made = Scalar(self._value(event, place), place)
        if event.anchor:
            self._anchors[event.anchor] = made
        self._put(made, place)

    def _key(self, top: _Open, event: Any, place: Place) -> None:
        if event.value in top.keys:
            self._fault("duplicate-key", f"the key {event.value!r:.100} stands here twice; keep one", place)
        if event.anchor:
            self._fault("alias", "a key cannot have an anchor; anchor its value", place)
        top.key = (event.value, place)

    def _value(self, event: Any, place: Place) -> Any:
        text = event.value
        try:
            text = substituted(text, self._variables)
        except Unset as error:
            self._fault("environment", str(error), place)
        return scalar_value(text) if event.style in (None, "") and event.implicit[0] else text

    def _aliased(self, anchor: str, place: Place) -> Node:
        if anchor not in self._anchors:
            raise _Refused("alias", f"there is no anchor &{anchor:.100} above", place)
        node = self._anchors[anchor]
        if node is None:
            raise _Refused("alias", f"*{anchor:.100} stands inside what it names", place)
        self._spend(node.size, place)
        if len(self._open) + node.height - 1 > DEEPEST:
            raise _Refused("too-deep", f"with *{anchor:.100} it is nested deeper than {DEEPEST}", place)
        return node

    def _put(self, node: Node, place: Place) -> None:
        if not self._open:
            self.root = node
            return
        top = self._open[-1]
        if not top.is_table:
            top.items.append(node)
        elif top.key is None:
            self._fault("wrong-type", "a key must be a text", place)
            top.key = ("", place)
        else:
            key, where = top.key
            if key not in top.keys:
                top.items.append(Entry(key, node, where))
            top.keys.add(key)
            top.key = None

    def _close(self) -> None:
        top = self._open.pop()
        made: Node = table(top.items, top.place) if top.is_table else series(top.items, top.place)
        if top.anchor:
            self._anchors[top.anchor] = made
        self._put(made, top.place)

    def _spend(self, size: int, place: Place) -> None:
        self._left -= size
        if self._left < 0:
            told = f"the file holds more than {MOST_NODES:,} values, aliases and includes counted in full"
            raise _Refused("too-large", told, place)

    def _fault(self, code: Code, message: str, place: Place) -> None:
        self.faults.append(diagnostic(code, message, place))
        if len(self.faults) >= MOST_FAULTS:
            raise _Refused(
                "syntax", f"there are more than {MOST_FAULTS} faults; the rest was not read", place
            )

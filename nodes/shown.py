"""What a reader sees of a reply while it is written: its text, and the text that `resolve` is given.

Every piece is looked at once, so that a long answer costs no more than it is long.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from .history import message_text
from .plain import clean_text
from .tools import RESOLVE

_TOKEN = re.compile(r'\s+|[{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+', re.DOTALL)
_WRITTEN = re.compile(r'(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*', re.DOTALL)
_HIGH_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})\Z")


class CallPiece(NamedTuple):
    """A piece of the arguments of a tool call, as the model writes them."""

    tool: str
    call_id: str | None
    args: str


class Shown:
    """Reads a reply's pieces in order. `text_key` is where `resolve` holds plain text, None for nowhere."""

    def __init__(self, text_key: str | None) -> None:
        self._field = TextField(text_key) if text_key is not None else None
        self._resolve: Any = _NONE
        self._current: Any = _NONE
        self._said = False
        self._about: dict[Any, tuple[str, str | None]] = {}
        self.given = ""
        self.written: list[CallPiece] = []

    def feed(self, piece: BaseMessage) -> str:
        """The text that `piece` adds. `given` is the part from `resolve`, a paragraph of its own;
        `written` are the arguments of other calls."""
        said, self.written = message_text(piece), []
        given = "".join(map(self._given, _calls(piece)))
        self.given = f"\n\n{given}" if given and (said or self._said) else given
        self._said = bool(said) or (self._said and not given)
        return said + self.given

    def _given(self, call: dict[str, Any]) -> str:
        """What a piece of a call adds; one without an index goes on with the call before it."""
        index = call.get("index")
        if call.get("name"):
            self._current = index if index is not None else object()
            self._about[self._current] = (call["name"], call.get("id"))
            if call["name"] == RESOLVE and self._resolve is _NONE:
                self._resolve = self._current
        place = index if index is not None else self._current
        if self._field is None or place is _NONE or place != self._resolve:
            if place in self._about and call.get("args"):
                self.written.append(CallPiece(*self._about[place], call["args"]))
            return ""
        return self._field.feed(call.get("args") or "")


class TextField:
    """Decodes the text under one key of a JSON object while the object arrives in pieces."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._rest = ""
        self._depth = 0
        self._name: str | None = None
        self._after_colon = False
        self._state = "before"

    def feed(self, piece: str) -> str:
        """The characters that `piece` adds to the text; half an escape waits for its other half."""
        self._rest += piece
        while self._state == "before" and self._step():
            continue
        return self._text() if self._state == "inside" else ""

    def _step(self) -> bool:
        """Read one token before the text. False when there is none yet."""
        if self._rest.startswith('"') and self._depth == 1 and self._after_colon and self._name == self._key:
            self._state, self._rest = "inside", self._rest[1:]
            return False
        token = _TOKEN.match(self._rest)
        if token is None:
            return False
        self._rest = self._rest[token.end() :]
        self._read(token[0])
        return True

    def _read(self, token: str) -> None:
        if token in ("{", "["):
            self._depth += 1
        elif token in ("}", "]"):
            self._depth -= 1
        elif self._depth == 1 and token == ",":
            self._name, self._after_colon = None, False
        elif self._depth == 1 and token == ":":
            self._after_colon = True
        elif self._depth == 1 and token.startswith('"') and not self._after_colon:
            self._name = _decoded(token[1:-1])

    def _text(self) -> str:
        match = _WRITTEN.match(self._rest)
        raw = match[0] if match else ""
        ends = self._rest[len(raw) :].startswith('"')
        half = None if ends else _HIGH_SURROGATE.search(raw)
        raw = raw[: half.start(1)] if half else raw
        self._rest = self._rest[len(raw) :]
        self._state = "after" if ends else "inside"
        return _decoded(raw)


def _decoded(raw: str) -> str:
    try:
        return clean_text(json.loads(f'"{raw}"', strict=False))[0]
    except ValueError:
        return ""


def _calls(piece: BaseMessage) -> list[dict[str, Any]]:
    """The calls in a piece; those of a whole message as if it were one piece."""
    pieces = getattr(piece, "tool_call_chunks", None)
    if pieces is not None:
        return list(pieces)
    whole = getattr(piece, "tool_calls", ())
    return [{**call, "args": json.dumps(call["args"])} for call in whole]


_NONE = object()

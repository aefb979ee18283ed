"""Types: `str`, `list[app.models:Entry]`, `app.models:Entry | app.models:Unclear`, or a JSON Schema."""

from __future__ import annotations

import json
import re
import types
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Literal, Union, get_args, get_origin

from .imports import PATH, Namer, Unimportable
from .jsontypes import SchemaFault, schema_of, type_of
from .kinds import Reading, Schema, Schemas, Writing, is_text, wrong
from .simple import Data
from .tree import Node, Scalar, Table, found, plain

PLAIN: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "None": type(None),
    "dict": dict,
    "list": list,
    "any": Any,
}
_NAMES = {value: name for name, value in PLAIN.items()}
_GENERIC: dict[str, Any] = {"list": list, "dict": dict, "set": set, "frozenset": frozenset, "tuple": tuple}
_TOKEN = re.compile(rf"\s*({PATH}|[A-Za-z_]\w*|\"(?:[^\"\\]|\\.)*\"|-?\d+|\.\.\.|[\[\],|])")
DEEPEST = 16
LONGEST = 2000


class NoType(ValueError):
    """A text that is no type; `nearest` may be meant."""

    def __init__(self, message: str, nearest: str = "") -> None:
        super().__init__(message)
        self.nearest = nearest


@dataclass(frozen=True)
class Type:
    """A type, as a unit's output or the shared state has one."""

    wanted: str = "a type"

    @property
    def what(self) -> str:
        return f"{self.wanted}: a name such as str, an import path, or a JSON Schema"

    def fits(self, node: Node) -> bool:
        return is_text(node) or isinstance(node, Table)

    def holds(self, value: Any) -> bool:
        return True

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Table):
            return _of_schema(node, at)
        if not (isinstance(node, Scalar) and isinstance(node.value, str)):
            return wrong(self, node, at)
        try:
            return _Parser(node.value, at).parsed()
        except NoType as error:
            return at.fault("bad-value", str(error), node, error.nearest)
        except Unimportable as error:
            return at.fault("import-failed", str(error), node, error.nearest)
        except TypeError as error:
            return at.fault("bad-value", f"{node.value!r:.80} is no type: {error!s:.200}", node)

    def write(self, value: Any, at: Writing) -> Any:
        schema = schema_of(value)
        if schema is not None:
            return Data().write(schema, at)
        try:
            return written(value, at.namer)
        except NoType as error:
            return at.fault(str(error))

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [{"type": "string"}, {"type": "object"}]}


def _of_schema(node: Table, at: Reading) -> Any:
    try:
        return type_of(plain(node), at.book.importer)
    except SchemaFault as error:
        return at.fault("bad-value", str(error), found(node, error.path), error.nearest)


class _Parser:
    """Reads a type's text by recursive descent."""

    def __init__(self, text: str, at: Reading) -> None:
        self._text, self._at = text, at
        self._tokens = _tokens(text)
        self._place = 0

    def parsed(self) -> Any:
        made = self._union(0)
        if self._place < len(self._tokens):
            raise NoType(f"{self._text!r:.80} is no type: {self._tokens[self._place]!r:.40} is too much")
        return made

    def _union(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise NoType(f"{self._text!r:.80} is nested too deep for a type")
        members = [self._one(depth)]
        while self._takes("|"):
            members.append(self._one(depth))
        return reduce(or_, members) if len(members) > 1 else members[0]

    def _one(self, depth: int) -> Any:
        word = self._next()
        if ":" in word and not word.startswith('"'):
            return self._at.book.importer(word)
        if word == "Literal":
            return Literal[tuple(self._arguments(self._constant))]
        if word in _GENERIC and self._peek() == "[":
            return _GENERIC[word][tuple(self._arguments(lambda: self._union(depth + 1)))]
        if word in PLAIN:
            return PLAIN[word]
        from .diagnostics import listed, nearest

        known = [*PLAIN, "Literal", *_GENERIC]
        raise NoType(
            f"{word!r:.60} is no type; there are: {listed(known)}, and import paths", nearest(word, known)
        )

    def _arguments(self, read: Any) -> list[Any]:
        if not self._takes("["):
            raise NoType(f"{self._text!r:.80} is no type: a [ is missing")
        made = [read()]
        while self._takes(","):
            made.append(read())
        if not self._takes("]"):
            raise NoType(f"{self._text!r:.80} is no type: a ] is missing")
        return made

    def _constant(self) -> Any:
        word = self._next()
        if word in ("True", "False", "None"):
            return {"True": True, "False": False, "None": None}[word]
        try:
            return json.loads(word)
        except ValueError:
            raise NoType(f"{word!r:.60} is no literal; put texts in double quotes") from None

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _takes(self, token: str) -> bool:
        taken = self._peek() == token
        self._place += taken
        return taken

    def _next(self) -> str:
        word = self._peek()
        if not word or word in "[],|":
            raise NoType(f"{self._text!r:.80} is no type: {word or 'its end'!r} stands where a name is due")
        self._place += 1
        return word if word != "..." else "..."


def _tokens(text: str) -> list[str]:
    if len(text) > LONGEST:
        raise NoType(f"{text!r:.60}… is too long for a type")
    tokens: list[str] = []
    place, text = 0, text.rstrip()
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise NoType(f"{text!r:.80} is no type: {text[place:].strip()!r:.40} makes no sense there")
        tokens.append(token[1])
        place = token.end()
    return tokens


def written(output: Any, namer: Namer) -> str:
    """A type as text. Raises NoType for one that has no name, or whose class cannot be imported."""
    if isinstance(output, type) and get_origin(output) is None and output in _NAMES:
        return _NAMES[output]
    if output is Any:
        return "any"
    origin, arguments = get_origin(output), get_args(output)
    if origin in (Union, types.UnionType):
        return " | ".join(written(argument, namer) for argument in arguments)
    if origin is Literal:
        return f"Literal[{', '.join(_literal(argument) for argument in arguments)}]"
    if isinstance(origin, type) and origin.__name__ in _GENERIC and arguments:
        return f"{origin.__name__}[{', '.join(written(argument, namer) for argument in arguments)}]"
    path = namer.path_of(output)
    if path is None:
        name = getattr(output, "__qualname__", None) or repr(output)
        raise NoType(f"the type {name:.120} has no import path; define it at the top level of a module")
    return path


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    if type(value) in (str, int):
        return json.dumps(value, ensure_ascii=False)
    raise NoType(f"a literal {value!r:.80} is no text, number or truth value")

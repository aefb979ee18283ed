"""Which keywords a JSON Schema may have, and the values they may take."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from .diagnostics import listed, nearest

Path = tuple[str | int, ...]
REDUCER = "x-plait-reducer"

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
OWN: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"),
    "boolean": (),
    "null": (),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
}
SHAPES = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")
NOTES = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
    "$id",
    "discriminator",
]
HOMES = ("$defs", "definitions")
_ALL = [*SHAPES, *HOMES, *NOTES, *dict.fromkeys(word for words in OWN.values() for word in words)]

FORMATS: Mapping[str, Any] = {
    "date": dt.date,
    "date-time": dt.datetime,
    "time": dt.time,
    "duration": dt.timedelta,
    "uuid": UUID,
    "decimal": Decimal,
}
TOLD = [
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "regex",
    "json-pointer",
    "byte",
    "binary",
    "password",
    "markdown",
]
NUMBERS = ["int32", "int64", "float", "double", "decimal"]
"""Formats that change nothing: the model is told them, and they are not checked."""


class SchemaFault(ValueError):
    """What is wrong with a schema. `path` are the keys and indexes to the place; `nearest` may be meant."""

    def __init__(self, message: str, path: Path, near: str = "") -> None:
        super().__init__(message)
        self.path, self.nearest = path, near


def kinds_of(schema: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """The types that a schema names, or that its keywords tell; none when it takes anything."""
    given = schema.get("type")
    if given is None:
        return tuple(kind for kind in ("object", "array") if any(word in schema for word in OWN[kind]))
    named = given if isinstance(given, list) else [given]
    for at, kind in enumerate(named):
        if kind not in TYPES or not isinstance(kind, str):
            where: Path = (*path, "type", at) if isinstance(given, list) else (*path, "type")
            told = f"{kind!r:.60} is no type of JSON Schema; there are: {listed(TYPES)}"
            raise SchemaFault(told, where, nearest(str(kind), TYPES))
    if not named or len(set(named)) < len(named):
        raise SchemaFault("a list of types names each once, and at least one", (*path, "type"))
    return tuple(named)


def check_keywords(schema: Mapping[str, Any], kinds: Sequence[str], path: Path) -> None:
    """Raises SchemaFault for a keyword that would not be checked, or that does nothing where it stands."""
    fitting = {*SHAPES, *HOMES, *NOTES, *(word for kind in kinds for word in OWN[kind])}
    if schema.get("format") == "decimal":
        fitting.update(OWN["number"])
    for word in schema:
        if word in fitting or word.startswith("x-"):
            continue
        if word in _ALL:
            what = " or ".join(kinds) or "a schema without a type"
            raise SchemaFault(
                f"{word!r} does nothing for {what}; name the type that it is for", (*path, word)
            )
        near = nearest(word, _ALL)
        raise SchemaFault(
            f"the keyword {word!r:.60} is not supported in a JSON Schema here", (*path, word), near
        )


def check_alone(schema: Mapping[str, Any], word: str, path: Path) -> None:
    """Raises SchemaFault when another shape stands beside `word`."""
    beside = [other for other in schema if other not in (word, *HOMES, *NOTES) and not other.startswith("x-")]
    if beside:
        raise SchemaFault(
            f"{beside[0]!r:.60} cannot stand beside {word!r}; put it inside", (*path, beside[0])
        )


def resolved(root: Mapping[str, Any], ref: Any, path: Path) -> tuple[Any, Path]:
    """The schema that a `$ref` of this document points to, and where it stands."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        told = f"{ref!r:.80} is no reference into this schema, such as #/$defs/entry"
        raise SchemaFault(told, (*path, "$ref"))
    steps = [unquote(step).replace("~1", "/").replace("~0", "~") for step in ref.split("/")[1:]]
    node: Any = root
    for step in steps:
        if isinstance(node, list) and step.isdecimal() and int(step) < len(node):
            node = node[int(step)]
        elif isinstance(node, Mapping) and step in node:
            node = node[step]
        else:
            near = nearest(step, node) if isinstance(node, Mapping) else ""
            raise SchemaFault(f"{ref!r:.80} points to nothing in this schema", (*path, "$ref"), near)
    return node, tuple(steps)


def a_mapping(schema: Mapping[str, Any], word: str, path: Path) -> Mapping[str, Any]:
    given = schema.get(word, {})
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise SchemaFault(f"{word!r} is a mapping from names to schemas", (*path, word))
    return given


def a_list(schema: Mapping[str, Any], word: str, path: Path) -> list[Any]:
    given = schema.get(word)
    if not isinstance(given, list) or not given:
        raise SchemaFault(f"{word!r} is a list with something in it", (*path, word))
    return given


def names_of(schema: Mapping[str, Any], word: str, known: Iterable[str], path: Path) -> list[str]:
    """The names in a list such as `required`, each of which is known."""
    given = schema.get(word, [])
    if not isinstance(given, list):
        raise SchemaFault(f"{word!r} is a list of names", (*path, word))
    for at, name in enumerate(given):
        if not isinstance(name, str) or name not in known:
            told = f"{name!r:.60} is {word} and not among the properties"
            raise SchemaFault(told, (*path, word, at), nearest(str(name), known))
    return given


def a_count(schema: Mapping[str, Any], word: str, path: Path) -> int | None:
    given = schema.get(word)
    if word in schema and (type(given) is not int or not 0 <= given < 2**31):
        raise SchemaFault(f"{word!r} is a whole number from 0 up, not {given!r:.40}", (*path, word))
    return given


def a_number(schema: Mapping[str, Any], word: str, path: Path) -> int | float | None:
    given = schema.get(word)
    if word in schema and (isinstance(given, bool) or not isinstance(given, int | float)):
        raise SchemaFault(f"{word!r} is a number, not {given!r:.40}", (*path, word))
    if word == "multipleOf" and given is not None and given <= 0:
        raise SchemaFault(f"'multipleOf' is above 0, not {given}", (*path, word))
    return given


def a_text(schema: Mapping[str, Any], word: str, path: Path) -> str | None:
    given = schema.get(word)
    if word in schema and not isinstance(given, str):
        raise SchemaFault(f"{word!r} is a text, not {given!r:.40}", (*path, word))
    return given


def a_flag(schema: Mapping[str, Any], word: str, path: Path) -> bool:
    given = schema.get(word, False)
    if not isinstance(given, bool):
        raise SchemaFault(f"{word!r} is true or false, not {given!r:.40}", (*path, word))
    return given

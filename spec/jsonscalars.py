"""The types of JSON Schemas for single values, and what is checked about them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from .diagnostics import listed, nearest
from .jsonshapes import FORMATS, NUMBERS, OWN, TOLD, Path, SchemaFault, a_count, a_list, a_number, a_text

PLAIN: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
}


def literal(schema: Mapping[str, Any], word: str, kinds: tuple[str, ...], path: Path) -> Any:
    values = [schema["const"]] if word == "const" else a_list(schema, word, path)
    for at, value in enumerate(values):
        where: Path = (*path, word) if word == "const" else (*path, word, at)
        if not (value is None or type(value) in (str, int, bool)):
            told = f"{word} takes texts, whole numbers, truth values and null, not {value!r:.60}"
            raise SchemaFault(told, where)
        if kinds and not any(_is_of(kind, value) for kind in kinds):
            raise SchemaFault(f"{value!r:.60} is not of the type {' or '.join(kinds)}", where)
    if extra := [key for kind in kinds for key in OWN[kind] if key in schema]:
        raise SchemaFault(f"{extra[0]!r} says nothing beside {word!r}; take it out", (*path, extra[0]))
    return Literal[tuple(values)]


def string(schema: Mapping[str, Any], path: Path) -> Any:
    form, told = a_text(schema, "format", path), [*FORMATS, *TOLD]
    if form is not None and form not in told:
        known = f"{form!r:.60} is no format that is known; there are: {listed(told)}"
        raise SchemaFault(known, (*path, "format"), nearest(form, told))
    if form in FORMATS:
        if odd := [word for word in ("minLength", "maxLength", "pattern") if word in schema]:
            raise SchemaFault(f"{odd[0]!r} says nothing beside the format {form!r}", (*path, odd[0]))
        return number("decimal", schema, path) if form == "decimal" else FORMATS[str(form)]
    pattern = a_text(schema, "pattern", path)
    if pattern is not None:
        _check_pattern(pattern, path)
    checks = {
        "min_length": a_count(schema, "minLength", path),
        "max_length": a_count(schema, "maxLength", path),
        "pattern": pattern,
        "json_schema_extra": form and {"format": form},
    }
    return checked(str, checks)


def number(kind: str, schema: Mapping[str, Any], path: Path) -> Any:
    form = a_text(schema, "format", path)
    if form is not None and kind != "decimal" and form not in NUMBERS:
        raise SchemaFault(f"{form!r:.60} is no format of numbers", (*path, "format"), nearest(form, NUMBERS))
    is_exact = form == "decimal" and kind != "integer"
    checks: dict[str, Any] = {
        "ge": a_number(schema, "minimum", path),
        "le": a_number(schema, "maximum", path),
        "gt": a_number(schema, "exclusiveMinimum", path),
        "lt": a_number(schema, "exclusiveMaximum", path),
        "multiple_of": a_number(schema, "multipleOf", path),
    }
    if is_exact:
        checks = {key: Decimal(str(it)) for key, it in checks.items() if it is not None}
    return checked(Decimal if is_exact else PLAIN[kind], checks)


def checked(hint: Any, checks: Mapping[str, Any]) -> Any:
    given = {word: value for word, value in checks.items() if value is not None}
    return Annotated[hint, Field(**given)] if given else hint


def _is_of(kind: str, value: Any) -> bool:
    if kind == "number":
        return type(value) is int
    return type(value) is PLAIN.get(kind)


def each_once(items: list[Any]) -> list[Any]:
    """The items, if none stands twice. Raises ValueError."""
    if all(isinstance(item, Hashable) for item in items):
        unique = len(set(items))
    else:
        unique = sum(item not in items[:at] for at, item in enumerate(items))
    if unique < len(items):
        raise ValueError("each item may stand once")
    return items


def _check_pattern(pattern: str, path: Path) -> None:
    try:
        TypeAdapter(Annotated[str, Field(pattern=pattern)])
    except Exception as error:
        told = f"the pattern {pattern!r:.60} cannot be used: {str(error).splitlines()[-1]:.200}"
        raise SchemaFault(told, (*path, "pattern")) from error

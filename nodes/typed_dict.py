"""`typing.TypedDict` before Python 3.12, which pydantic refuses, as its `typing_extensions` twin."""

from __future__ import annotations

import sys
import types
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typing_extensions


def with_modern_typed_dicts(output: Any) -> Any:
    """`output` with every old TypedDict in it rebuilt, except generic ones."""
    return output if sys.version_info >= (3, 12) else _modern(output, {})


def _modern(annotation: Any, done: dict[Any, Any]) -> Any:
    origin = get_origin(annotation)
    if origin is None:
        return _rebuilt(annotation, done) if _is_old(annotation) else annotation
    if origin is Literal:
        return annotation
    if origin is Annotated:
        return Annotated[(_modern(annotation.__origin__, done), *annotation.__metadata__)]
    old = get_args(annotation)
    new = tuple(_modern(part, done) for part in old)
    return annotation if new == old else _subscribed(annotation, origin, new)


def _subscribed(annotation: Any, origin: Any, parts: tuple[Any, ...]) -> Any:
    if origin in (Union, types.UnionType):
        return reduce(or_, parts)
    return annotation.copy_with(parts) if hasattr(annotation, "copy_with") else origin[parts]


def _is_old(annotation: Any) -> bool:
    return typing_extensions.is_typeddict(annotation) and not getattr(annotation, "__parameters__", ())


def _rebuilt(old: Any, done: dict[Any, Any]) -> Any:
    """The twin is registered before its fields are converted, so that a recursive TypedDict finds itself."""
    if old not in done:
        make: Any = typing_extensions.TypedDict
        new = done[old] = make(old.__name__, {})
        for name in ("__module__", "__qualname__", "__doc__", "__required_keys__", "__optional_keys__"):
            setattr(new, name, getattr(old, name))
        if hasattr(old, "__pydantic_config__"):
            new.__pydantic_config__ = old.__pydantic_config__
        hints = get_type_hints(old, include_extras=True)
        new.__annotations__ = {key: _modern(hint, done) for key, hint in hints.items()}
    return done[old]

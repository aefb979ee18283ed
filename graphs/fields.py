"""The fields of an output type, as far as the type tells them before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import is_typeddict

from ..core.attributes import attribute_of, told_names
from ..core.codec_classes import hints_of


def field_names(output: Any) -> list[str]:
    if isinstance(output, type) and issubclass(output, BaseModel):
        return list(told_names(output).values())
    if isinstance(output, type) and is_dataclass(output):
        return [f.name for f in fields(output)]
    if isinstance(output, type) and hasattr(output, "__annotations__"):
        return list(field_types(output))
    return []


def field_types(output: Any) -> Mapping[str, Any]:
    """The fields of an output type with their types; pydantic has resolved its own."""
    if issubclass(output, BaseModel):
        told = told_names(output)
        return {told[name]: info.annotation for name, info in output.model_fields.items()}
    return hints_of(output)


def field_type(output: type, name: str) -> Any:
    """The type of one field, by its name or its alias; None when the type names no such field."""
    if issubclass(output, BaseModel):
        attribute = attribute_of(output, name)
        return None if attribute is None else output.model_fields[attribute].annotation
    return field_types(output).get(name)


def types_at(output: Any, names: Sequence[str]) -> list[Any]:
    """The types that the field at `names` can have; none when they are not known."""
    if not names:
        return _kinds(output)
    kinds = [kind for kind in _kinds(output) if isinstance(kind, type) and kind is not NoneType]
    hints = [None if _is_open(kind) else field_type(kind, names[0]) for kind in kinds]
    if not hints or any(hint is None for hint in hints):
        return []
    below = [types_at(hint, names[1:]) for hint in hints]
    return [kind for one in below for kind in one] if all(below) else []


def may_have(output: Any, names: Sequence[str]) -> bool:
    """Whether a value of the type can have the field at `names`, each a field of the one before it."""
    return not names or any(_may_have(kind, names) for kind in _kinds(output))


def nearest(name: str, output: Any) -> str:
    """What to write instead of a field that no value of the type has."""
    known = list(dict.fromkeys(known for kind in _kinds(output) for known in field_names(kind)))
    near = get_close_matches(name, known, 1, 0.5)
    return f"the nearest is {near[0]!r}" if near else f"there are: {', '.join(known)}"


def _kinds(output: Any) -> list[Any]:
    """The members of a union, else the type itself, without annotations."""
    if get_origin(output) is Annotated:
        return _kinds(get_args(output)[0])
    if get_origin(output) in (Union, UnionType):
        return [kind for member in get_args(output) for kind in _kinds(member)]
    return [output]


def _may_have(kind: Any, names: Sequence[str]) -> bool:
    if kind is NoneType:
        return False
    if not isinstance(kind, type) or _is_open(kind):
        return True
    hint = field_type(kind, names[0])
    if hint is not None:
        return may_have(hint, names[1:])
    unread = any(names[0] in vars(base).get("__annotations__", ()) for base in kind.__mro__)
    is_own = hasattr(kind, names[0]) and not (issubclass(kind, BaseModel) and hasattr(BaseModel, names[0]))
    return unread or (not is_typeddict(kind) and is_own)


def _is_open(kind: type) -> bool:
    """Whether its values may have fields that the class does not name; text and numbers are not judged."""
    if is_typeddict(kind):
        return False
    if issubclass(kind, BaseModel):
        inherited = kind.__getattr__ is BaseModel.__getattr__  # type: ignore[attr-defined]
        return kind.model_config.get("extra") == "allow" or not inherited
    return issubclass(kind, Mapping) or hasattr(kind, "__getattr__") or not field_names(kind)

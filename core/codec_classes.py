"""Which classes may be kept, how each is named, and how a name leads back to its class.

A name is looked up in the registry of the workflow's definition first, then by importing its module.
Only pydantic models, dataclasses, enums and named tuples are ever taken from there.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import operator
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel

from .codec_kinds import BY_TYPE
from .codec_types import Changed, Plain, Refused, Registry

ClassKind = Literal["model", "dataclass", "enum", "namedtuple"]


def kind_of(candidate: object) -> ClassKind | None:
    """What sort of class this is, or None when its values cannot be kept."""
    return _kind_of(candidate) if isinstance(candidate, type) else None


@functools.lru_cache(maxsize=4096)
def _kind_of(cls: type) -> ClassKind | None:
    if issubclass(cls, enum.Enum):
        return "enum"
    if issubclass(cls, BaseModel):
        return "model"
    if dataclasses.is_dataclass(cls):
        return "dataclass"
    return "namedtuple" if issubclass(cls, tuple) and hasattr(cls, "_fields") else None


def origin_of(cls: type) -> type:
    """`Box` for the pydantic model `Box[int]`; every other class itself."""
    if issubclass(cls, BaseModel):
        return cls.__pydantic_generic_metadata__["origin"] or cls
    return cls


def class_name(cls: type) -> str:
    """`module:qualname`. A parametrised pydantic model bears the name of its origin."""
    origin = origin_of(cls)
    return f"{origin.__module__}:{origin.__qualname__}"


def find_class(name: str, registry: Registry) -> type:
    """The class of that name today. Raises Changed when there is none, or when its values cannot be kept."""
    found: object = registry.get(name) or _reader_of(name, registry)
    if found is None:
        found = _imported(name)
    if kind_of(found) is None:
        raise Changed(name, "which is no pydantic model, dataclass, enum or named tuple now")
    return cast(type, found)


READS = "__plait_reads__"
"""Where a class says how the names begin of the classes whose values it reads as its own."""


def _reader_of(name: str, registry: Registry) -> type | None:
    return next((cls for cls in registry.values() if name.startswith(vars(cls).get(READS, "|"))), None)


def _imported(name: str) -> object:
    module_name, _, qualname = name.partition(":")
    if "<locals>" in qualname:
        raise Changed(name, "a class defined inside a function that does not belong to this definition")
    try:
        found: object = sys.modules.get(module_name) or importlib.import_module(module_name)
        for part in qualname.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module may fail in any way while it is imported
        raise Changed(name, f"which cannot be imported now ({type(error).__name__}: {error})") from error
    return found


def require_findable(cls: type, registry: Registry) -> None:
    """Raises Refused unless the name of `cls` leads back to `cls` itself."""
    name = class_name(cls)
    try:
        found = find_class(name, registry)
    except Changed as fault:
        advice = "define it at module level, or name it in the workflow's definition"
        raise Refused(cls, f"its class could not be found again: {name}, {fault.why}; {advice}") from fault
    if found is not origin_of(cls):
        raise Refused(cls, f"{name} is another class now (was it defined twice, or its module reloaded?)")


# Type arguments of generic models, as plain data: a class by name, a form as [head, *arguments].

_PLAIN_TYPES = (type(None), bool, str, list, dict, object)
_BY_NAME: dict[str, Any] = {class_name(cls): cls for cls in (*_PLAIN_TYPES, *BY_TYPE)} | {"typing:Any": Any}
_HEADS: dict[str, Any] = {cls.__name__: cls for cls in (list, dict, set, frozenset, tuple)}


def arguments_of(cls: type, registry: Registry) -> list[Plain]:
    """The type arguments that made the pydantic model `cls` from its origin; empty when there are none.

    Raises Refused when they cannot be named.
    """
    if origin_of(cls) is cls:
        return []
    arguments = cast(Any, cls).__pydantic_generic_metadata__["args"]
    plain = [_type_to_plain(cls, argument, registry) for argument in arguments]
    if with_arguments(origin_of(cls), plain, registry) is not cls:
        raise Refused(cls, "its type arguments lead to another class; make a named subclass of it")
    return plain


def _type_to_plain(owner: type, form: Any, registry: Registry) -> Plain:
    head, arguments = get_origin(form), get_args(form)
    if head is Literal and all(type(value) in (str, int, bool, type(None)) for value in arguments):
        return ["Literal", *arguments]
    if head in (Union, types.UnionType) or head in _HEADS.values():
        label = {Union: "Union", types.UnionType: "|"}.get(head) or head.__name__
        return [label, *(_type_to_plain(owner, argument, registry) for argument in arguments)]
    if form is Ellipsis:
        return "..."
    if head is None and form in _BY_NAME.values():
        return f"{form.__module__}:{form.__qualname__}" if form is not Any else "typing:Any"
    if head is None and kind_of(form):
        require_findable(form, registry)
        return [class_name(form), *arguments_of(form, registry)]
    raise Refused(owner, f"its type argument {form!r} cannot be named; make a named subclass of it")


def _type_from_plain(plain: Plain, registry: Registry) -> Any:
    match plain:
        case "...":
            return Ellipsis
        case str():
            return _BY_NAME[plain]
        case ["Literal", *values]:
            return cast(Any, Literal)[tuple(values)]
        case [str(head), *rest]:
            arguments = tuple(_type_from_plain(part, registry) for part in rest)
    if head == "|":
        return functools.reduce(operator.or_, arguments)
    if head == "Union":
        return cast(Any, Union)[arguments]
    if head in _HEADS:
        return _HEADS[head][arguments]
    return parametrised(find_class(head, registry), arguments)


def parametrised(cls: type, arguments: tuple[Any, ...]) -> type:
    """The pydantic model `cls[arguments]`; `cls` itself when there are none."""
    if not arguments:
        return cls
    if not issubclass(cls, BaseModel):
        raise Changed(class_name(cls), "which is no generic pydantic model now")
    return cast(type, cast(Any, cls)[arguments])


def with_arguments(cls: type, plain: Iterable[Plain], registry: Registry) -> type:
    """`cls` with the type arguments that `arguments_of` wrote."""
    try:
        return parametrised(cls, tuple(_type_from_plain(part, registry) for part in plain))
    except Changed:
        raise
    except Exception as error:  # pydantic and typing raise several kinds for wrong arguments
        raise Changed(class_name(cls), f"which does not take its type arguments now: {error}") from error


# The registry of a definition.


def registry_of(*annotations: Any) -> dict[str, type]:
    """Every class that can be kept and is reachable from these types, by name.

    Goes through unions, generics, fields and recursion. When two classes share a name the first one
    stands; a value of the other is refused when it is written.
    """
    found: dict[str, type] = {}
    seen: dict[int, Any] = {}  # holds what it saw, so that no id is given out twice
    pending = list(reversed(annotations))
    while pending:
        form = pending.pop()
        if id(form) in seen:
            continue
        seen[id(form)] = form
        if kind_of(form):
            found.setdefault(class_name(form), origin_of(form))
        pending.extend(_parts_of(form))
    return found


def _parts_of(form: Any) -> Iterable[Any]:
    if isinstance(form, list | tuple) and not hasattr(form, "_fields"):
        return form  # the parameter list of a Callable
    if isinstance(form, enum.Enum):
        return (type(form),)  # a member inside a Literal
    if isinstance(form, typing.TypeVar):
        return (form.__bound__, *form.__constraints__)
    if hasattr(form, "__value__") or hasattr(form, "__supertype__"):
        return (getattr(form, "__value__", None), getattr(form, "__supertype__", None))
    if isinstance(form, type):
        return _parts_of_class(form)
    return (get_origin(form), *get_args(form))


def _parts_of_class(cls: type) -> Iterable[Any]:
    if issubclass(cls, BaseModel):
        generic, fields = cls.__pydantic_generic_metadata__, cls.model_fields.values()
        return (generic["origin"], *generic["args"], *(field.annotation for field in fields))
    if kind_of(cls) in ("dataclass", "namedtuple") or hasattr(cls, "__total__"):
        return hints_of(cls).values()
    return ()


def hints_of(cls: type) -> Mapping[str, Any]:
    """The resolved annotations of a class; what names something out of reach is left out."""
    here = {**vars(cls), cls.__name__: cls}
    try:
        return typing.get_type_hints(cls, localns=here, include_extras=True)
    except Exception:  # evaluating an annotation may raise anything; then one by one
        return {name: hint for base in reversed(cls.__mro__) for name, hint in _own_hints(base, here)}


def _own_hints(cls: type, here: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    space = vars(sys.modules.get(cls.__module__, types))
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            yield name, typing.get_type_hints(holder, space, here, include_extras=True)[name]
        except Exception:
            continue

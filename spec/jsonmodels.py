"""The pydantic models of one JSON Schema: named by its content, recursive ones included."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Any, ForwardRef, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from ..core.codec_classes import READS
from .jsonshapes import Path, SchemaFault

Extra = Literal["allow", "ignore", "forbid"]


@dataclass(frozen=True)
class Member:
    """A property: its type, whether it is needed, what may stand for it, and what is said about it."""

    name: str
    hint: Any
    is_required: bool
    path: Path
    default: tuple[Any, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)
    reducer: Any = None


class Default:
    """Makes the default of a field: a new value each time, read as the field's type."""

    def __init__(self, value: Any, path: Path) -> None:
        self.value, self.path = value, path
        self.hint: Any = Any

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.hint)

    def __call__(self) -> Any:
        return self._adapter.validate_json(json.dumps(self.value), strict=True)


class Models:
    """The classes of one schema by the place of their objects in it.

    `digest` is that of the schema, `shape` that of what it says without descriptions: a class reads what
    another one of its shape wrote.
    """

    def __init__(self, digest: str, shape: str) -> None:
        self._digest, self._shape = digest, shape
        self._names: dict[Path, str] = {}
        self._classes: dict[Path, Any] = {}

    def is_own(self, cls: type) -> bool:
        return cls in self._classes.values()

    def known(self, path: Path) -> Any:
        """The class of an object, a forward reference while it is being made, or None."""
        if path in self._classes:
            return self._classes[path]
        return ForwardRef(self._names[path]) if path in self._names else None

    def begin(self, path: Path, title: str) -> None:
        marks = (_mark(f"{digest}{json.dumps(path)}") for digest in (self._shape, self._digest))
        self._names[path] = "_".join((_camel(title), *marks))

    def make(self, path: Path, members: list[Member], extra: Extra, doc: str | None) -> Any:
        name = self._names[path]
        taken: set[str] = {member.name for member in members}
        fields: dict[str, Any] = {}
        for member in members:
            attribute = _attribute(member.name, taken)
            fields[attribute] = (_hint(member), _field(member, attribute))
        config = ConfigDict(extra=extra, protected_namespaces=())
        make: Any = create_model
        shape = name.rpartition("_")[0]
        made = make(shape.rpartition("_")[0], __config__=config, __module__=__name__, __doc__=doc, **fields)
        made.__qualname__ = name
        setattr(made, READS, f"{__name__}:{shape}_")
        self._classes[path] = made
        return made

    def finish(self) -> None:
        """Resolve references among the classes, and read each default once, as it will be made.

        Raises SchemaFault for a default that does not fit.
        """
        space = {self._names[path]: cls for path, cls in self._classes.items()}
        for cls in self._classes.values():
            cls.model_rebuild(_types_namespace=space)
        for cls in self._classes.values():
            for info in cls.model_fields.values():
                if isinstance(info.default_factory, Default):
                    checks = (info.annotation, *info.metadata)
                    info.default_factory.hint = Annotated[checks] if info.metadata else info.annotation
                    _check(info.default_factory)


def _check(default: Default) -> None:
    try:
        default()
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"]
        told = f"the default {default.value!r:.60} does not fit: {why}"
        raise SchemaFault(told, default.path) from error


def _hint(member: Member) -> Any:
    return member.hint if member.reducer is None else Annotated[member.hint, member.reducer]


def _field(member: Member, attribute: str) -> Any:
    given: dict[str, Any] = dict(member.notes)
    if attribute != member.name:
        given["alias"] = member.name
    if member.is_required and not member.default:
        return Field(**given)
    if not member.default:
        return Field(default=None, exclude_if=_is_none, json_schema_extra=_without_default, **given)
    (value,) = member.default
    shown: Any = {"default": value}
    return Field(default_factory=Default(value, member.path), json_schema_extra=shown, **given)


def _is_none(value: Any) -> bool:
    return value is None


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def _attribute(name: str, taken: set[str]) -> str:
    """The attribute for a property: its own name, unless pydantic has a use for that."""
    if not name.startswith("_") and not hasattr(BaseModel, name):
        return name
    attribute = f"{name.lstrip('_')}_"
    while attribute in taken:
        attribute += "_"
    taken.add(attribute)
    return attribute


def _mark(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def __getattr__(name: str) -> Any:
    """Tells of a class whose schema is another one by now."""
    told = f"the JSON Schema of {name!r}, of a unit's output or the state, is defined differently now"
    raise AttributeError(told)


def _camel(title: str) -> str:
    words = re.findall(r"\w+", title)
    joined = "".join(word[:1].upper() + word[1:] for word in words)[:60]
    return joined if joined.isidentifier() and not joined.startswith("_") else "Output"

"""Values of classes, taken apart into their attributes and put together again without running their code.

No `__init__`, validator or `__post_init__` runs, so nothing is altered. What was stored is held against
the class of today instead: names, defaults, and the types and constraints of the fields.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    RootModel,
    Strict,
    TypeAdapter,
    WrapValidator,
)
from pydantic.fields import FieldInfo

from .codec_classes import class_name, hints_of, kind_of
from .codec_types import Changed

_set = object.__setattr__  # past frozen and validating classes
_MISSING = object()
_NOT_CHECKED = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator, Strict)


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """What a value consists of. Dicts hold values still to be encoded, tuples hold names.

    `private`, `extra` and `named` (the set fields; None for all) are pydantic's. `attrs` are attributes
    beside the fields, `absent` fields that had no value, `loose` fields whose value did not fit the
    class already when it was written, so that only a change of the class is reported later.
    """

    fields: dict[str, Any]
    extra: dict[str, Any] | None = None
    private: dict[str, Any] | None = None
    attrs: dict[str, Any] | None = None
    named: tuple[str, ...] | None = None
    absent: tuple[str, ...] | None = None
    loose: tuple[str, ...] | None = None


MAPS = ("extra", "private", "attrs")
NAMES = ("named", "absent", "loose")


def take_apart(value: Any) -> Parts:
    """The parts of a pydantic model, dataclass or named tuple."""
    match kind_of(type(value)):
        case "model":
            return _model_parts(value)
        case "dataclass":
            return _dataclass_parts(value)
    beside = dict(getattr(value, "__dict__", ()))
    return Parts(dict(zip(value._fields, value, strict=True)), attrs=beside or None)


def _model_parts(value: BaseModel) -> Parts:
    cls, state = type(value), value.__dict__
    names = _infos(cls)
    fields = {name: item for name, item in state.items() if name in names}
    extra = getattr(value, "__pydantic_extra__", None)
    named, everything = value.__pydantic_fields_set__, fields.keys() | (extra or {}).keys()
    return Parts(
        fields,
        extra=extra or None,
        private=getattr(value, "__pydantic_private__", None) or None,
        attrs=_beside(cls, state, fields) if len(state) > len(fields) else None,
        named=None if named == everything else tuple(sorted(named)),
        absent=tuple(name for name in names if name not in fields) or None,
    )


def _dataclass_parts(value: Any) -> Parts:
    cls, names = type(value), [field.name for field in dataclasses.fields(value)]
    state = _state(value)
    fields = {name: state[name] for name in names if name in state}
    absent = tuple(name for name in names if name not in state)
    return Parts(fields, attrs=_beside(cls, state, fields), absent=absent or None)


def _state(value: object) -> Mapping[str, Any]:
    """Every attribute an object holds itself, in its dict or in slots."""
    state: Any = object.__getstate__(value)
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    return {**(attributes or {}), **(slots or {})}


def _beside(cls: type, state: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any] | None:
    """Attributes that are no fields. Cached properties are left out: they are worked out again."""
    names = state.keys() - set(fields)
    return {name: state[name] for name in sorted(names) if not _derived(cls, name)} or None


def _derived(cls: type, name: str) -> bool:
    if name.startswith("__"):  # what pydantic and typing note on an instance
        return True
    return isinstance(getattr(cls, name, None), functools.cached_property)


def put_together(cls: type, parts: Parts, *, checked: bool) -> Any:
    """The value again, as `cls` is today. Raises Changed when the parts do not fit it (if `checked`)."""
    kind, known = kind_of(cls), _field_names(cls)
    if kind != "model" and (parts.extra or parts.private):
        raise Changed(class_name(cls), "which is no pydantic model now")
    absent = parts.absent or ()
    _require_known(cls, [*parts.fields, *absent], known)
    if checked:
        _require_fitting(cls, parts)
    fields = dict(parts.fields)
    for name in known:
        if name not in fields and (name not in absent or kind == "namedtuple"):
            fields[name] = _default(cls, name, fields)
    value: Any = _bare(cls) if kind != "namedtuple" else tuple.__new__(cls, [fields[name] for name in known])
    if kind == "model":
        _fill_model(value, parts, fields)
    elif kind == "dataclass":
        _fill(value, fields)
    _fill(value, parts.attrs or {})
    return value


def _bare(cls: type) -> Any:
    try:
        return object.__new__(cls)
    except TypeError as error:  # it also extends a built-in type, which holds data of its own
        raise Changed(class_name(cls), f"which cannot be made from its fields alone ({error})") from error


def _fill(value: Any, attributes: Mapping[str, Any]) -> None:
    for name, item in attributes.items():
        try:
            _set(value, name, item)
        except AttributeError as error:
            raise Changed(class_name(type(value)), f"which has no attribute {name!r} now") from error


def _fill_model(value: BaseModel, parts: Parts, fields: dict[str, Any]) -> None:
    cls, extra = type(value), parts.extra or {}
    private = _private(cls, parts.private or {})
    named = (*parts.fields, *extra) if parts.named is None else parts.named
    _set(value, "__dict__", fields)
    _set(value, "__pydantic_fields_set__", set(named))
    if not isinstance(value, RootModel):  # a root model has these on its class, as None
        _set(value, "__pydantic_extra__", extra if extra or _allows_extra(cls) else None)
        _set(value, "__pydantic_private__", None)
    if private is not None:
        _set(value, "__pydantic_private__", private)


def _allows_extra(cls: type) -> bool:
    return cast(type[BaseModel], cls).model_config.get("extra") == "allow"


def _private(cls: type[BaseModel], stored: dict[str, Any]) -> dict[str, Any] | None:
    today = cls.__private_attributes__
    _require_known(cls, stored, today)
    if not today:
        return None
    defaults = {name: attribute.get_default() for name, attribute in today.items() if name not in stored}
    return stored | {name: item for name, item in defaults.items() if repr(item) != "PydanticUndefined"}


def _field_names(cls: type) -> list[str]:
    match kind_of(cls):
        case "model":
            return list(cast(type[BaseModel], cls).model_fields)
        case "dataclass":
            return [field.name for field in dataclasses.fields(cast(Any, cls))]
    return list(cast(Any, cls)._fields)


def _require_known(cls: type, stored: Iterable[str], today: Iterable[str]) -> None:
    unknown = [name for name in stored if name not in today]
    if unknown:
        raise Changed(class_name(cls), f"which has no field {', '.join(map(repr, unknown))} now")


def _default(cls: type, name: str, fields: dict[str, Any]) -> Any:
    """The default of a field that was not stored, because it is new."""
    try:
        found = _declared_default(cls, name, fields)
    except Exception as error:  # a default factory may raise anything
        raise Changed(class_name(cls), f"whose new field {name!r} gave no default ({error})") from error
    if found is _MISSING:
        raise Changed(class_name(cls), f"which now requires a field {name!r} that was not stored")
    return found


def _declared_default(cls: type, name: str, fields: dict[str, Any]) -> Any:
    info = _infos(cls).get(name)
    if info is not None:
        if info.is_required():
            return _MISSING
        return info.get_default(call_default_factory=True, validated_data=fields)
    if kind_of(cls) == "namedtuple":
        return cast(Any, cls)._field_defaults.get(name, _MISSING)
    field = cast(Any, cls).__dataclass_fields__[name]
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _MISSING if field.default is dataclasses.MISSING else field.default


def _infos(cls: type) -> Mapping[str, FieldInfo]:
    """What pydantic knows of the fields; empty for standard dataclasses and named tuples."""
    return cast(Mapping[str, FieldInfo], getattr(cls, "__pydantic_fields__", {}))


# Whether a value fits its field.


def loose_names(cls: type, parts: Parts) -> tuple[str, ...] | None:
    """Fields whose value does not fit what the class declares, and extras that it does not allow."""
    checks = _checks(cls)
    loose = [name for name, item in parts.fields.items() if name in checks and not _fits(checks[name], item)]
    return (*loose, *_barred(cls, parts)) or None


def _barred(cls: type, parts: Parts) -> Iterable[str]:
    return () if not parts.extra or _allows_extra(cls) else parts.extra


def _require_fitting(cls: type, parts: Parts) -> None:
    _require_known(cls, set(_barred(cls, parts)).difference(parts.loose or ()), ())
    for name in loose_names(cls, parts) or ():
        if name not in (parts.loose or ()):
            held = type(parts.fields[name]).__name__
            raise Changed(class_name(cls), f"whose field {name!r} does not take the stored {held} now")


def _fits(check: TypeAdapter[Any], item: Any) -> bool:
    try:
        check.validate_python([item], strict=True)
    except Exception:  # not ValidationError alone: a validator inside an annotation may raise anything
        return False
    return True


@functools.lru_cache(maxsize=1024)
def _checks(cls: type) -> Mapping[str, TypeAdapter[Any]]:
    """A strict check per field that has a meaningful annotation."""
    infos = _infos(cls)
    if infos:
        made = {name: _check(info.annotation, info.metadata) for name, info in infos.items()}
    else:
        made = {name: _check(hint, ()) for name, hint in hints_of(cls).items()}
    return {name: check for name, check in made.items() if check is not None}


def _check(annotation: Any, metadata: Iterable[Any]) -> TypeAdapter[Any] | None:
    """Types and constraints only: a class's validators expect raw input, and already ran."""
    if get_origin(annotation) is Annotated:
        annotation, *inner = get_args(annotation)
        metadata = (*inner, *metadata)
    if annotation is Any:
        return None
    kept = [mark for mark in metadata if not isinstance(mark, _NOT_CHECKED)]
    form = cast(Any, Annotated)[(annotation, *kept)] if kept else annotation
    try:  # in a list, because an adapter of a class with a config of its own takes no other
        return TypeAdapter(cast(Any, list)[form], config=ConfigDict(arbitrary_types_allowed=True))
    except Exception:  # no schema can be made of this annotation
        return None

"""A typed state: which keys there are, what they hold, and how parallel writes merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import ReadOnly

from .attributes import told_names
from .codec import decode, encode, registry_of
from .errors import PlaitError

Reducer = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class StateSchema:
    """Made by `state_schema`. Untyped (no keys declared) accepts any key and value."""

    name: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    reducers: Mapping[str, Reducer] = field(default_factory=dict)
    known: Mapping[str, type] = field(default_factory=dict)

    @cached_property
    def types(self) -> Mapping[str, type]:
        """Classes that values of this state may have, by `module:qualname`."""
        return {**registry_of(*self.hints.values()), **self.known}

    @cached_property
    def _adapters(self) -> Mapping[str, TypeAdapter[Any]]:
        return {key: TypeAdapter(hint) for key, hint in self.hints.items()}

    def has_reducer(self, key: str) -> bool:
        return key in self.reducers

    def validated(self, key: str, value: Any) -> Any:
        """`value` as the key's type. Raises PlaitError naming the key when it does not fit."""
        if not self.hints:
            return value
        if key not in self.hints:
            raise PlaitError(f"state {self.name} has no key {key!r}; it has {', '.join(sorted(self.hints))}")
        try:
            return self._adapters[key].validate_python(value)
        except ValidationError as error:
            why = "; ".join(problem["msg"] for problem in error.errors())
            raise PlaitError(f"state key {key!r}: {why} (got {value!r:.80})") from error

    def default(self, key: str, otherwise: Any) -> Any:
        make = self.defaults.get(key)
        return otherwise if make is None else make()

    def merged(self, key: str, old: Any, new: Any) -> Any:
        """The plain value of the key's reducer applied to two plain values."""
        reduce = self.reducers.get(key)
        if reduce is None:
            return new
        try:
            reduced = reduce(decode(old, key, self.types), decode(new, key, self.types))
        except PlaitError:
            raise
        except Exception as error:
            told = f"state key {key!r}: its reducer raised {type(error).__name__}: {error}"
            raise PlaitError(told) from error
        return encode(self.validated(key, reduced), key, self.types)

    def start(self, key: str) -> Any:
        """The plain value that the first write of a reduced key is merged into, or None."""
        made = self.default(key, None)
        return None if made is None else encode(made, key, self.types)


UNTYPED = StateSchema()


def state_schema(source: Any, known: Mapping[str, type] | None = None) -> StateSchema:
    """Read a pydantic model, dataclass or TypedDict; `Annotated[T, reducer]` declares a merge.

    `known` adds classes that values may have. Raises PlaitError for another kind of source.
    """
    if source is None:
        return StateSchema(known=known or {})
    if not (
        isinstance(source, type) and (hasattr(source, "__annotations__") or issubclass(source, BaseModel))
    ):
        raise PlaitError(f"state= takes a pydantic model, a dataclass or a TypedDict, not {source!r}")
    hints = _hints_of(source)
    reducers = {key: reducer for key, hint in hints.items() if (reducer := _reducer_of(hint))}
    bare = {key: _typed(hint, reducers.get(key)) for key, hint in hints.items()}
    return StateSchema(source.__name__, bare, _defaults_of(source), reducers, known or {})


def _reducer_of(hint: Any) -> Reducer | None:
    if get_origin(hint) is not Annotated:
        return None
    return next(
        (extra for extra in get_args(hint)[1:] if callable(extra) and not isinstance(extra, type)), None
    )


def _typed(hint: Any, reducer: Reducer | None) -> Any:
    """The hint with everything that validates, and without the reducer."""
    given = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    kind = get_args(hint)[0] if given else hint
    checks = [extra for extra in given if extra is not reducer]
    return Annotated[(kind, *checks)] if checks else kind


def _hints_of(source: type) -> dict[str, Any]:
    """The keys a state declares with their types: no class variables, no `Required` marks.

    Raises PlaitError for a type that cannot be resolved.
    """
    if issubclass(source, BaseModel):
        told = told_names(source)
        return {told[name]: _annotated(info) for name, info in source.model_fields.items()}
    try:
        hints = get_type_hints(source, include_extras=True)
    except NameError as error:
        raise PlaitError(f"state {source.__name__}: {error}; declare its types at module level") from error
    declared = [f.name for f in fields(source)] if is_dataclass(source) else list(hints)
    return {key: _unmarked(hints[key]) for key in declared}


def _annotated(info: FieldInfo) -> Any:
    """A pydantic field's type with what stands beside it: constraints, and a reducer."""
    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation


def _unmarked(hint: Any) -> Any:
    """A TypedDict's hint without `Required`, `NotRequired` or `ReadOnly` around it."""
    is_marked = get_origin(hint) in (Required, NotRequired, ReadOnly)
    return _unmarked(get_args(hint)[0]) if is_marked else hint


def _defaults_of(source: type) -> dict[str, Callable[[], Any]]:
    if issubclass(source, BaseModel):
        told, infos = told_names(source), source.model_fields.items()
        return {told[name]: _caller(info) for name, info in infos if not info.is_required()}
    if is_dataclass(source):
        made = {f.name: _field_default(f) for f in fields(source)}
        return {key: make for key, make in made.items() if make is not None}
    return {}


def _caller(info: Any) -> Callable[[], Any]:
    return lambda: info.get_default(call_default_factory=True)


def _field_default(declared: Field[Any]) -> Callable[[], Any] | None:
    if declared.default_factory is not MISSING:
        return declared.default_factory
    value = declared.default
    return None if value is MISSING else lambda: value

"""What a unit must hand in: one type, its JSON Schema for the `resolve` tool, the way to and from JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, is_dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_origin, overload

from pydantic import BaseModel, RootModel, TypeAdapter
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict, is_typeddict

from .jsonschema import Schema, schema_map, tool_parameters
from .judge import judged
from .problems import InvalidOutput, Refusal, described, plain_object
from .repair import mended
from .typed_dict import with_modern_typed_dicts

__all__ = ["InvalidOutput", "OutputSchema", "output_schema"]

T = TypeVar("T")

ROUNDS = 4
"""How often arguments are mended and read again: JSON text inside JSON text, so many levels deep."""

_KINDS = "give a pydantic model, a dataclass, a TypedDict or a type that JSON can express"


@dataclass(frozen=True, slots=True)
class OutputSchema(Generic[T]):
    """An output type. Made by `output_schema`.

    Models, dataclasses and TypedDicts have fields of their own. Every other type is `wrapped`: the tool takes
    it under the one key `value`.
    """

    wrap_key: ClassVar[str] = "value"

    output: type[T]
    wrapped: bool
    _adapter: TypeAdapter[Any] = field(repr=False, compare=False)
    _map: Schema = field(repr=False, compare=False)
    _parameters: Schema = field(repr=False, compare=False)

    def parameters(self) -> dict[str, Any]:
        """A self-contained JSON Schema with an object at its root, for a function tool."""
        return deepcopy(self._parameters)

    def validate(self, arguments: Mapping[str, Any]) -> T:
        """The typed value, read as strict JSON. Raises InvalidOutput, which names each field and reason.

        A type's own config wins over strictness. What fails is mended where the schema says how (`repair`);
        a wrapped value may stand without its key where that leaves no doubt.
        """
        refusals: list[list[Refusal]] = []
        for reading in self._readings(plain_object(arguments)):
            value, refused = self._read(reading)
            if not refused:
                return value[self.wrap_key] if self.wrapped else value  # type: ignore[no-any-return]
            refusals.append(refused)
        raise InvalidOutput(described(refusals[0]))

    def dump(self, value: T) -> Any:
        """`value` in plain JSON kinds, named as in the schema; bytes as text, or all as base64 where some are
        not UTF-8. Raises ValueError if it cannot be shown so."""
        whole = {self.wrap_key: value} if self.wrapped else value
        try:
            text = self._adapter.dump_json(whole, by_alias=True, warnings=False)
        except PydanticSerializationError:
            plain = self._adapter.dump_python(whole, by_alias=True, warnings=False)
            text = to_json(plain, bytes_mode="base64")
        dumped = json.loads(text)
        return dumped[self.wrap_key] if self.wrapped else dumped

    def text(self, value: T) -> str:
        """`value` as compact JSON text; what is text in JSON stands without quotes."""
        dumped = value if isinstance(value, str) else self.dump(value)
        return str(dumped) if isinstance(dumped, str) else _compact(dumped)

    def _readings(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield data
        if self.wrapped and self.wrap_key not in data and (data or self.output in (None, type(None))):
            yield {self.wrap_key: data or None}

    def _read(self, data: dict[str, Any]) -> tuple[Any, list[Refusal]]:
        value, refused = judged(self._adapter, self._map, data)
        for _ in range(ROUNDS):
            better = mended(data, [one for one in refused if not self._lacks_key(one)], self._map)
            if better is None:
                break
            data = better
            value, refused = judged(self._adapter, self._map, data)
        return value, refused

    def _lacks_key(self, refusal: Refusal) -> bool:
        return (
            self.wrapped and refusal.error["loc"] == (self.wrap_key,) and refusal.error["type"] == "missing"
        )


@overload
def output_schema(output: type[T]) -> OutputSchema[T]: ...
@overload
def output_schema(output: Any) -> OutputSchema[Any]: ...
def output_schema(output: Any) -> OutputSchema[Any]:
    """The schema of `output`, made once per type. Raises TypeError for what has no JSON form."""
    try:
        hash(output)
    except TypeError:
        return _made(output)
    return _cached(output, repr(output))


@lru_cache(maxsize=512)
def _cached(output: Any, shown: str) -> OutputSchema[Any]:
    """`shown` keeps apart what compares equal and reads differently, such as `int | str` and `str | int`."""
    return _made(output)


def _made(output: Any) -> OutputSchema[Any]:
    try:
        modern = with_modern_typed_dicts(output)
        wrapped = not _has_fields(modern)
        adapter: TypeAdapter[Any] = TypeAdapter(_wrapper(modern) if wrapped else modern)
        marked = schema_map(adapter)
        return OutputSchema(output, wrapped, adapter, marked, tool_parameters(marked))
    except Exception as error:
        name = output.__qualname__ if isinstance(output, type) else repr(output)
        why = (str(error).strip() or type(error).__name__).splitlines()[0].split(". Set `arbitrary")[0]
        raise TypeError(f"{name} cannot be an output ({_KINDS}): {why}") from error


def _has_fields(output: Any) -> bool:
    for inner in ("__value__", "__supertype__"):  # a type alias, a NewType
        if hasattr(output, inner):
            return _has_fields(getattr(output, inner))
    origin = get_origin(output)
    if origin is Annotated:
        return _has_fields(output.__origin__)
    kind = origin or output
    if not isinstance(kind, type):
        return False
    is_model = issubclass(kind, BaseModel) and not issubclass(kind, RootModel)
    return is_model or is_dataclass(kind) or is_typeddict(kind)


def _wrapper(output: Any) -> Any:
    make: Any = TypedDict
    return make("Resolve", {OutputSchema.wrap_key: output})


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

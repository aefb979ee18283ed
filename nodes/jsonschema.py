"""The JSON Schema of an output type.

Pydantic makes it. It is kept in two forms: with marks where the type's own config relaxes strictness,
as a map for judging and mending arguments; and cleaned, as the parameters of a function tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema as core

Schema = dict[str, Any]

LAX = "x-plait-lax"
"""Mark in the map: "all" where a config says strict=False, "numbers" where it takes numbers as text."""

_REF = "#/$defs/"
_NAMED = ("properties", "patternProperties", "$defs", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def schema_map(adapter: TypeAdapter[Any]) -> Schema:
    """The marked schema of what `adapter` validates."""
    return adapter.json_schema(mode="validation", schema_generator=_MapGenerator)


def tool_parameters(marked: Schema) -> Schema:
    """A fresh, self-contained schema with an object at its root, free of marks.

    Every reference resolves in it. `discriminator` is left out: it is no JSON Schema keyword, the branches'
    constants say the same, and whoever inlines references would leave its pointers dangling.
    """
    cleaned = _clean(marked)
    defs: dict[str, Schema] = {name: _untitled(node, name) for name, node in cleaned.pop("$defs", {}).items()}
    root = cleaned
    while "$ref" in root:
        root = {**deepcopy(defs[ref_name(root["$ref"])]), **{k: v for k, v in root.items() if k != "$ref"}}
    root = {**root, "type": "object", "properties": root.get("properties", {})}
    needed = _reachable(root, defs)
    return {**root, "$defs": {name: defs[name] for name in defs if name in needed}} if needed else root


class _MapGenerator(GenerateJsonSchema):
    """Pydantic's generator without titles made from names, and with the marks of `LAX`."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  (as pydantic types it)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def generate_inner(self, schema: Any) -> Schema:
        made = super().generate_inner(schema)
        return {**made, LAX: "all"} if schema.get("strict") is False and "$ref" not in made else made

    def model_schema(self, schema: core.ModelSchema) -> Schema:
        return _marked(super().model_schema(schema), schema)

    def dataclass_schema(self, schema: core.DataclassSchema) -> Schema:
        return _marked(super().dataclass_schema(schema), schema)

    def typed_dict_schema(self, schema: core.TypedDictSchema) -> Schema:
        return _marked(super().typed_dict_schema(schema), schema)


def _marked(made: Schema, schema: Mapping[str, Any]) -> Schema:
    kept = _untitled(made, getattr(schema.get("cls"), "__name__", ""))
    config = schema.get("config") or {}
    if config.get("strict") is False:
        return {**kept, LAX: "all"}
    return {**kept, LAX: "numbers"} if config.get("coerce_numbers_to_str") else kept


def _untitled(made: Schema, name: str) -> Schema:
    return {key: value for key, value in made.items() if key != "title" or value != name}


def _clean(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    return {key: _cleaned(key, value) for key, value in node.items() if not _unwanted(key, value)}


def _unwanted(key: str, value: Any) -> bool:
    return key == LAX or (key == "discriminator" and isinstance(value, dict) and "propertyName" in value)


def _cleaned(key: str, value: Any) -> Any:
    if key in _NAMED and isinstance(value, dict):
        return {name: _clean(node) for name, node in value.items()}
    if key in _LISTED and isinstance(value, list):
        return [_clean(node) for node in value]
    if key in ("items", "additionalProperties", "propertyNames"):
        return _clean(value)
    return deepcopy(value)


def _reachable(root: Schema, defs: Mapping[str, Schema]) -> set[str]:
    found: set[str] = set()
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            waiting.extend(node.values())
            name = ref_name(node.get("$ref"))
            if name in defs and name not in found:
                found.add(name)
                waiting.append(defs[name])
    return found


def ref_name(ref: Any) -> str:
    return ref.removeprefix(_REF) if isinstance(ref, str) else ""


def resolved(node: Schema, schema: Schema) -> Schema:
    """What `node` refers to; a reference that leads nowhere says nothing."""
    defs = schema.get("$defs", {})
    for _ in range(len(defs) + 1):
        if "$ref" not in node:
            return node
        node = defs.get(ref_name(node["$ref"]), {})
    return {}

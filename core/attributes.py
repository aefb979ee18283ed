"""Fields of pydantic models by the names that files and conditions give them: a property that pydantic has
a use for, such as `copy` or `_x`, is an attribute of another name with the property's name as its alias."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

MISSING: Any = object()
"""Stands for a field that is not there."""


def told_names(model: type[BaseModel]) -> Mapping[str, str]:
    """The name of each attribute as its user knows it: the alias where pydantic takes the name itself."""
    return {name: _told(name, info.alias) for name, info in model.model_fields.items()}


def attribute_of(model: type[BaseModel], name: str) -> str | None:
    """The attribute that holds the field of this name, or of this alias."""
    known = model.model_fields
    if name in known:
        return name
    return next((attribute for attribute, info in known.items() if info.alias == name), None)


def value_of(output: Any, name: str) -> Any:
    """The field of a value, or MISSING."""
    if isinstance(output, Mapping):
        return output.get(name, MISSING)
    if isinstance(output, BaseModel):
        attribute = attribute_of(type(output), name)
        if attribute is None and name in (output.model_extra or {}):
            return (output.model_extra or {})[name]
        return getattr(output, attribute or name, MISSING)
    return getattr(output, name, MISSING)


def _told(name: str, alias: str | None) -> str:
    is_taken = alias is not None and (alias.startswith("_") or hasattr(BaseModel, alias))
    return alias if alias is not None and is_taken else name

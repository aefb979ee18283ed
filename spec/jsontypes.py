"""A JSON Schema as a type: strict, readable by attribute, and the schema goes back out as it came in.

Objects become pydantic models, other schemas plain types. A type is named by the content of its schema, so
that a thread which was paused in one process finds the classes of its values in another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Annotated, Any, get_args, get_origin
from weakref import WeakValueDictionary

from .imports import imported
from .jsonmodels import Models
from .jsonshapes import SchemaFault
from .jsontranslation import Translation

__all__ = ["SchemaFault", "schema_of", "type_of"]

_SOURCE = "__plait_schema__"
_made: WeakValueDictionary[str, Any] = WeakValueDictionary()
_lock = Lock()


@dataclass(frozen=True, slots=True)
class Source:
    """Beside a plain type: the text of the schema that it was made of."""

    text: str


def type_of(schema: Mapping[str, Any], importer: Callable[[str], Any] = imported) -> Any:
    """The type of a JSON Schema, the same one for schemas that say the same with their properties in the
    same order. `importer` finds reducers by import path.

    Raises SchemaFault, with the path of the fault in the schema, for what is no schema or has keywords that
    would not be checked.
    """
    content = _written(schema, canonical)
    with _lock:
        known = _made.get(content)
        if known is None:
            known = _made[content] = _translated(schema, content, importer)
        return known


def schema_of(value: Any) -> dict[str, Any] | None:
    """The schema that a type was made of, None for any other type or value."""
    text = vars(value).get(_SOURCE) if isinstance(value, type) else None
    if get_origin(value) is Annotated:
        text = next((one.text for one in get_args(value)[1:] if isinstance(one, Source)), None)
    return None if text is None else json.loads(text)


def _translated(schema: Mapping[str, Any], content: str, importer: Callable[[str], Any]) -> Any:
    models = Models(_digest(content), _digest(_written(schema, _shape)))
    text = _written(schema)
    made = Translation(schema, models, importer).whole()
    models.finish()
    if isinstance(made, type) and models.is_own(made):
        setattr(made, _SOURCE, text)
        return made
    return Annotated[made, Source(text)]


_NAMED = ("properties", "$defs", "definitions")
_SAID = ("description", "examples")


def canonical(schema: Any, word: str = "", shape: bool = False) -> Any:
    """What stands behind `word` with its keys sorted, except those of `properties`, whose order is that of
    the output. Its `shape` is without what it only says about itself, and without the order of `required`."""
    if isinstance(schema, list):
        items = [canonical(one, "", shape) for one in schema]
        return sorted(items, key=str) if shape and word == "required" else items
    if not isinstance(schema, Mapping):
        return schema
    is_named = word in _NAMED
    keys = schema if word == "properties" else sorted(schema, key=str)
    kept = (key for key in keys if is_named or not shape or key not in _SAID)
    return {key: canonical(schema[key], "" if is_named else key, shape) for key in kept}


def _shape(schema: Any) -> Any:
    return canonical(schema, shape=True)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _written(schema: Any, form: Callable[[Any], Any] = dict) -> str:
    try:
        return json.dumps(form(schema), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaFault(f"a JSON Schema is plain data: {error!s:.100}", ()) from error

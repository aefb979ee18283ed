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
    """The type of a JSON Schema, the same one for equal schemas. `importer` finds reducers by import path.

    Raises SchemaFault, with the path of the fault in the schema, for what is no schema or has keywords that
    would not be checked.
    """
    content = _written(schema, sort_keys=True)
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
    models = Models(sha256(content.encode("utf-8", "backslashreplace")).hexdigest())
    text = _written(schema)
    made = Translation(schema, models, importer).whole()
    models.finish()
    if isinstance(made, type) and models.is_own(made):
        setattr(made, _SOURCE, text)
        return made
    return Annotated[made, Source(text)]


def _written(schema: Any, sort_keys: bool = False) -> str:
    try:
        return json.dumps(schema, sort_keys=sort_keys, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaFault(f"a JSON Schema is plain data: {error!s:.100}", ()) from error

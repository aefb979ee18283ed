"""Reading arguments as a type: strict JSON, except where the type's own rules say otherwise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from .jsonschema import Schema
from .places import admits, place_of
from .problems import Refusal
from .repair import ABSENT, value_at

MOST = 2000
"""Errors that are looked into. A recursive union can have pydantic report millions."""


def judged(adapter: TypeAdapter[Any], schema: Schema, data: dict[str, Any]) -> tuple[Any, list[Refusal]]:
    """The value of `data` and no refusals, or None and why not.

    Strictness asked of pydantic overrides every config, and makes a field behind a `before` validator refuse
    the JSON form of its own type. So where the type's own rules excuse every strict error, they decide.
    """
    text = json.dumps(data, ensure_ascii=False)
    value, errors = _validated(adapter, text, strict=True)
    if not errors:
        return value, []
    own_value, own_errors = _validated(adapter, text, strict=None)
    refused = [refusal for refusal in _placed(errors, schema) if not _is_excused(refusal, schema, data)]
    if not refused and not own_errors and len(errors) <= MOST:
        return own_value, []
    told = {refusal.error["loc"] for refusal in refused}
    return None, [*refused, *_placed([error for error in own_errors if error["loc"] not in told], schema)]


def _placed(errors: Sequence[ErrorDetails], schema: Schema) -> list[Refusal]:
    return [Refusal(error, place_of(error["loc"], schema)) for error in errors[:MOST]]


def _validated(
    adapter: TypeAdapter[Any], text: str, *, strict: bool | None
) -> tuple[Any, Sequence[ErrorDetails]]:
    try:
        return adapter.validate_json(text, strict=strict), ()
    except ValidationError as error:
        return None, error.errors(include_url=False)
    except Exception as error:  # a validator of the type itself failed on what the model sent
        message = f"{type(error).__name__}: {error}"
        return None, [{"type": "failed_validator", "loc": (), "msg": message, "input": None}]


def _is_excused(refusal: Refusal, schema: Schema, data: dict[str, Any]) -> bool:
    kind, value, place = refusal.error["type"], refusal.error["input"], refusal.place
    if place.lax == "all":
        return True
    if not (kind.endswith("_type") or kind == "is_instance_of"):
        return False
    if place.lax == "numbers" and kind == "string_type" and isinstance(value, int | float):
        return True
    sent = value_at(data, place.path)
    return _was_made(value, sent) or any(admits(node, value, schema) for node in place.nodes)


def _was_made(value: Any, sent: Any) -> bool:
    """Whether a validator of the type put `value` where the model sent another one."""
    return sent is not ABSENT and bool(sent != value)

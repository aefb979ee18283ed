"""What a foreign runtime returned, as the typed output of a role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from ..core.errors import RunError
from ..nodes.answers import parse_json_text
from ..nodes.history import message_text
from ..nodes.schema import InvalidOutput, OutputSchema


def typed(schema: OutputSchema[Any], value: Any) -> Any:
    """`value` as an output of `schema`: an instance as it is, a message or text by what it says.

    Raises RunError with reason `invalid-resolve` when it does not fit.
    """
    if isinstance(value, BaseMessage):
        value = message_text(value)
    if schema.output is Any or _is_instance(value, schema.output):
        return value
    problems: list[str] = []
    for candidate in _candidates(schema, value):
        try:
            return schema.validate(candidate)
        except InvalidOutput as error:
            problems.append(str(error))
    why = problems[0] if problems else f"{str(value)[:200]!r} holds no value of it"
    raise RunError(f"what was returned is no {_name(schema.output)}: {why}", reason="invalid-resolve")


def _is_instance(value: Any, output: Any) -> bool:
    return isinstance(output, type) and isinstance(value, output) and not isinstance(value, dict)


def _candidates(schema: OutputSchema[Any], value: Any) -> list[dict[str, Any]]:
    found = parse_json_text(value) if isinstance(value, str) else [value]
    if isinstance(value, str) and schema.wrapped:
        found = [*found, value]
    if hasattr(value, "model_dump"):
        found = [value.model_dump(mode="json")]
    return [dict(c) if isinstance(c, Mapping) else {schema.wrap_key: c} for c in found]


def _name(output: Any) -> str:
    return str(getattr(output, "__name__", output))

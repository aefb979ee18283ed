"""What a foreign runtime returned, as the typed output of a role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from ..core.errors import RunError
from .answers import parse_json_text, without_thinking
from .history import message_text
from .labels import Labels
from .schema import InvalidOutput, OutputSchema


def typed(schema: OutputSchema[Any], value: Any, labels: Labels | None = None) -> Any:
    """`value` as an output of `schema`: an instance as it is, a message or text by what it says.

    A router's label is read as `labels` allow. Raises RunError with reason `invalid-resolve` when
    it does not fit.
    """
    if isinstance(value, BaseMessage):
        value = message_text(value)
    if schema.output is str and isinstance(value, str):
        return str.__str__(value)  # some texts are of a class with a behaviour of its own
    if schema.output is Any or _is_instance(value, schema.output):
        return value
    problems: list[str] = []
    for arguments in _arguments(schema, value, labels):
        try:
            output = schema.validate(arguments)
        except InvalidOutput as error:
            problems.append(str(error))
            continue
        if labels is None or (fault := labels.fault(arguments)) is None:
            return output
        problems.append(fault)
    why = problems[0] if problems else f"{str(value)[:200]!r} holds no value of it"
    raise RunError(f"what was returned is no {_name(schema.output)}: {why}", reason="invalid-resolve")


def _is_instance(value: Any, output: Any) -> bool:
    """Whether `value` needs no reading; containers do, since what they hold is not checked yet."""
    if isinstance(value, bool | dict | list | tuple | set | frozenset):
        return type(value) is bool and output is bool
    return isinstance(output, type) and not _is_typed_dict(output) and isinstance(value, output)


def _is_typed_dict(output: type) -> bool:
    return hasattr(output, "__total__") and issubclass(output, dict)


def _arguments(schema: OutputSchema[Any], value: Any, labels: Labels | None) -> Iterator[dict[str, Any]]:
    if labels is not None and isinstance(value, str) and (said := labels.text(value)) is not None:
        yield said
    for candidate in _candidates(schema, value):
        arguments = dict(candidate) if isinstance(candidate, Mapping) else {schema.wrap_key: candidate}
        yield labels.arguments(arguments) if labels is not None else arguments


def _candidates(schema: OutputSchema[Any], value: Any) -> list[Any]:
    if hasattr(value, "model_dump"):
        return [value.model_dump(mode="json")]
    if not isinstance(value, str):
        return [value]
    found = parse_json_text(value)
    if not schema.wrapped:
        return found
    said = without_thinking(value).strip()
    # written out, a decimal keeps the digits that a float would round
    return [said, *found] if any(isinstance(one, float) for one in found) else [*found, said]


def _name(output: Any) -> str:
    return str(getattr(output, "__name__", output))

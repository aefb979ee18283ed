from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from plait.nodes.schema import output_schema


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    level: Level
    title: str = Field(title="Form of address")


class Item(BaseModel):
    sku: str


class Review(BaseModel):
    score: int = Field(ge=0, le=10, description="From 0 to 10.")


class Node(BaseModel):
    """A tree."""

    name: str
    children: list[Node] = []


class Named(BaseModel):
    amount: int = Field(alias="Betrag")


def test_parameters_keep_descriptions_and_lose_titles_made_from_names() -> None:
    score = {"description": "From 0 to 10.", "maximum": 10, "minimum": 0, "type": "integer"}
    assert output_schema(Review).parameters() == {
        "type": "object",
        "properties": {"score": score},
        "required": ["score"],
    }
    assert json.dumps(output_schema(Owner).parameters()).count('"title": "') == 1


def test_a_recursive_type_is_described_at_the_root_and_in_its_definition() -> None:
    parameters = output_schema(Node).parameters()
    assert parameters["description"] == "A tree."
    assert parameters["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert set(parameters["$defs"]) == {"Node"}


def test_a_type_without_fields_still_has_properties() -> None:
    class Nothing(BaseModel):
        pass

    assert output_schema(Nothing).parameters() == {"type": "object", "properties": {}}
    assert output_schema(Nothing).validate({"x": 1}) == Nothing()


def test_a_plain_type_is_wrapped_under_value() -> None:
    schema = output_schema(list[int])
    assert (schema.wrapped, schema.wrap_key) == (True, "value")
    assert schema.parameters()["required"] == ["value"]
    assert not output_schema(Review).wrapped


def test_changing_the_parameters_changes_no_later_ones() -> None:
    output_schema(Review).parameters()["properties"].clear()
    assert output_schema(Review).parameters()["properties"]


def test_the_schema_of_a_type_is_made_once() -> None:
    assert output_schema(Review) is output_schema(Review)
    assert output_schema(int | str).parameters() != output_schema(str | int).parameters()


class Opaque:
    pass


@pytest.mark.parametrize("output", [Opaque, list[Opaque], "Missing", 3, Callable[[], int]])
def test_a_type_without_a_json_form_is_refused_by_name(output: Any) -> None:
    named = output.__qualname__ if isinstance(output, type) and output is Opaque else repr(output)
    with pytest.raises(TypeError) as caught:
        output_schema(output)
    assert str(caught.value).startswith(f"{named} cannot be an output")
    assert "errors.pydantic.dev" not in str(caught.value)


@pytest.mark.parametrize(
    ("output", "value", "text"),
    [
        (str, '{"a": 1}', '{"a": 1}'),
        (Decimal, Decimal("32.10"), "32.10"),
        (date, date(2026, 11, 30), "2026-11-30"),
        (Level, Level.LOW, "low"),
        (int, 3, "3"),
        (None, None, "null"),
        (float, float("nan"), "null"),
        (list[Item], [Item(sku="午饭")], '[{"sku":"午饭"}]'),
        (Named, Named(Betrag=1), '{"Betrag":1}'),  # type: ignore[call-arg]
        (Cat | Dog, Dog(kind="dog", name="Rex"), '{"kind":"dog","name":"Rex"}'),
    ],
)
def test_a_value_has_a_compact_text(output: Any, value: Any, text: str) -> None:
    assert output_schema(output).text(value) == text


class Scan(BaseModel):
    """A model with bytes in it."""

    day: date
    image: bytes


@pytest.mark.parametrize(
    ("output", "value", "shown"),
    [
        (bytes, b"text", "text"),
        (bytes, b"\xff\x00", "_wA="),
        (dict[str, bytes], {"a": b"\xff"}, {"a": "_w=="}),
        (Scan, Scan(day=date(2026, 11, 30), image=b"\xff"), {"day": "2026-11-30", "image": "_w=="}),
    ],
)
def test_bytes_that_are_no_text_are_shown_as_base64(output, value, shown):
    assert output_schema(output).dump(value) == shown

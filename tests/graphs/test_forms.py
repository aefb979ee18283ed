"""What a server shows as the form of a run's input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from plait import Workflow, WorkflowUnit
from plait.testing import ScriptedModel


class Inner(BaseModel):
    x: int


class Typed(BaseModel):
    """Some state."""

    colour: str = Field("red", description="what to paint with")
    inner: Inner


@dataclass
class Plain:
    colour: str = "red"


def join(old: list[int], new: list[int]) -> list[int]:
    return old + new


class Keys(TypedDict):
    numbers: Annotated[list[int], join]


class Odd(BaseModel):
    """A state with a type that has no JSON form."""

    model_config = {"arbitrary_types_allowed": True}
    colour: str
    made: ScriptedModel


def form(state: Any) -> Any:
    return Workflow(WorkflowUnit("u"), model=ScriptedModel([]), state=state).graph.get_input_jsonschema()


def test_the_fields_of_the_input_are_described() -> None:
    fields = form(None)["properties"]
    assert {"task", "messages", "state"} == set(fields)
    assert all(field["title"] and field["description"] for field in fields.values())
    assert fields["task"]["type"] == "string"


def test_a_typed_state_shows_its_keys_and_fills_none_of_them_in() -> None:
    shown = form(Typed)
    state = shown["properties"]["state"]
    assert state["properties"]["colour"] == {
        "title": "Colour",
        "description": "what to paint with",
        "type": "string",
    }
    assert state["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
    assert shown["$defs"]["Inner"]["properties"] == {"x": {"title": "X", "type": "integer"}}
    assert "required" not in state
    assert state["description"]


@pytest.mark.parametrize(("state", "keys"), [(Plain, {"colour"}), (Keys, {"numbers"})])
def test_every_kind_of_state_shows_its_keys(state: Any, keys: set[str]) -> None:
    assert set(form(state)["properties"]["state"]["properties"]) == keys


def test_a_state_without_a_json_form_is_any_mapping() -> None:
    state = form(Odd)["properties"]["state"]
    assert state["type"] == "object"
    assert state["description"]

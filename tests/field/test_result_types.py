"""Field cases: unions, enums and defaults in the result type."""

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from plait import WorkflowUnit
from plait.testing import call

from ..support import answers, run


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Found(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    level: Level
    note: str | None = None
    score: float = 0.5


unit = WorkflowUnit("find", output=Found)
rex = call("resolve", pet={"kind": "dog", "name": "Rex"}, level="low")


async def test_f28_defaults_unions_and_enums_come_back_as_themselves():
    result, _ = await run(unit, [rex])
    assert result.output == Found(pet=Dog(kind="dog", name="Rex"), level=Level.LOW)
    assert type(result.output.pet) is Dog
    assert result.output.level is Level.LOW
    assert (result.output.note, result.output.score) == (None, 0.5)


async def test_f28_an_unknown_kind_is_answered_with_those_there_are():
    cow = call("resolve", pet={"kind": "cow", "name": "Bo"}, level="low")
    _, model = await run(unit, [cow, rex])
    (answer,) = answers(model.requests[1])
    assert answer.status == "error"
    assert "cat" in answer.content
    assert "dog" in answer.content


async def test_f28_an_unknown_enum_value_is_answered_with_those_there_are():
    _, model = await run(unit, [call("resolve", pet={"kind": "dog", "name": "Rex"}, level="middle"), rex])
    (answer,) = answers(model.requests[1])
    assert "low" in answer.content
    assert "high" in answer.content


async def test_f28_the_schema_sent_stands_on_its_own():
    _, model = await run(unit, [rex])
    (schema,) = [s for s in model.requests[0].tool_schemas if s["function"]["name"] == "resolve"]
    parameters = schema["function"]["parameters"]
    assert parameters["type"] == "object"
    for pointer in pointers(parameters):
        assert resolved(parameters, pointer)["type"] == "object" or "enum" in resolved(parameters, pointer)


def pointers(node: Any) -> list[str]:
    """Every local reference in a schema, those of discriminator mappings included."""
    if isinstance(node, list):
        return [pointer for item in node for pointer in pointers(item)]
    if not isinstance(node, dict):
        return [node] if isinstance(node, str) and node.startswith("#/") else []
    return [pointer for item in node.values() for pointer in pointers(item)]


def resolved(root: dict[str, Any], pointer: str) -> Any:
    node: Any = root
    for part in pointer.removeprefix("#/").split("/"):
        node = node[part]
    return node

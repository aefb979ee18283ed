from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    StringConstraints,
    field_validator,
    model_validator,
)
from typing_extensions import TypeAliasType, TypedDict

from plait.nodes.schema import InvalidOutput, output_schema

T = TypeVar("T")


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str
    born: date | None = None


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    note: str | None
    score: float = 0.5
    level: Level


class Item(BaseModel):
    sku: str


class Order(BaseModel):
    items: list[Item]
    note: str


class Review(BaseModel):
    score: int = Field(ge=0, le=10, description="From 0 to 10.")


class Node(BaseModel):
    """A tree."""

    name: str
    children: list[Node] = []
    parent: Node | None = None


class Box(BaseModel, Generic[T]):
    inside: T


class Entry(TypedDict):
    item: str
    amount: NotRequired[Decimal]


class OldEntry(typing.TypedDict, total=False):
    item: typing.Required[str]
    parts: list[OldEntry]


class LaxEntry(typing.TypedDict):
    __pydantic_config__ = ConfigDict(strict=False)  # type: ignore[misc]

    count: Annotated[int, "how many"]
    kind: Literal["a", "b"] | None


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclass
class Bill:
    amount: Decimal
    due: date
    tags: set[str] = field(default_factory=set)


class Skus(RootModel[list[Item]]):
    pass


class Named(BaseModel):
    model_config = ConfigDict(extra="forbid")

    amount: int = Field(alias="Betrag")
    code: Annotated[str, StringConstraints(pattern="^[A-Z]+$")] = "A"
    first: int = Field(0, validation_alias=AliasPath("all", 0))


class Lax(BaseModel):
    model_config = ConfigDict(strict=False)

    counts: list[int]
    review: Review | None = None


class Outer(BaseModel):
    lax: Lax
    count: int = 0


class Texts(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    code: str
    count: int = 0


def _same(value: Any) -> Any:
    return value


class Checked(BaseModel):
    due: date | None = None
    price: Annotated[Decimal, BeforeValidator(_same)] = Decimal(0)
    pair: tuple[int, ...] = ()
    count: int = 0

    @model_validator(mode="before")
    @classmethod
    def _look(cls, data: Any) -> Any:
        return data


class Grouped(BaseModel):
    amount: Annotated[float, BeforeValidator(lambda text: str(text).replace(",", ""))]


class Picky(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _fails(cls, name: str) -> str:
        if name == "nobody":
            raise ValueError("nobody is not a name")
        return {"ada": "Ada"}[name]


REX = {"kind": "dog", "name": "Rex"}

ACCEPTED: list[tuple[Any, dict[str, Any], Any]] = [
    (Owner, {"pet": REX, "level": "low"}, Owner(pet=Dog(**REX), note=None, level=Level.LOW)),  # type: ignore[arg-type]
    (Review, {"score": 7}, Review(score=7)),
    (Node, {"name": "a", "children": [{"name": "b"}]}, Node(name="a", children=[Node(name="b")])),
    (Box[int], {"inside": 3}, Box[int](inside=3)),
    (Box[list[Item]], {"inside": [{"sku": "a"}]}, Box[list[Item]](inside=[Item(sku="a")])),
    (
        Bill,
        {"amount": "32", "due": "2026-11-30", "tags": ["a", "a"]},
        Bill(Decimal(32), date(2026, 11, 30), {"a"}),
    ),
    (Bill, {"amount": 32.1, "due": "2026-11-30"}, Bill(Decimal("32.1"), date(2026, 11, 30))),
    (Entry, {"item": "lunch"}, {"item": "lunch"}),
    (Entry, {"item": "lunch", "amount": "32.50"}, {"item": "lunch", "amount": Decimal("32.50")}),
    (OldEntry, {"item": "a", "parts": [{"item": "b"}]}, {"item": "a", "parts": [{"item": "b"}]}),
    (list[OldEntry] | None, {"value": [{"item": "a"}]}, [{"item": "a"}]),
    (Named, {"Betrag": 3, "code": "XY", "all": [4]}, Named(Betrag=3, code="XY", all=[4])),  # type: ignore[call-arg]
    (Skus, {"value": [{"sku": "a"}]}, Skus([Item(sku="a")])),
    (Point, {"value": [1, 2]}, Point(1, 2)),
    (str, {"value": "7"}, "7"),
    (int, {"value": 2**70}, 2**70),
    (float, {"value": 3}, 3.0),
    (bool, {"value": True}, True),
    (None, {"value": None}, None),
    (None, {}, None),
    (Literal["a", "b"], {"value": "b"}, "b"),
    (Level, {"value": "high"}, Level.HIGH),
    (int | str | None, {"value": None}, None),
    (int | str, {"value": "7"}, "7"),
    (Cat | Dog, {"value": REX}, Dog(kind="dog", name="Rex")),
    (tuple[int, str], {"value": [1, "a"]}, (1, "a")),
    (dict[str, list[int]], {"value": {"a": [1]}}, {"a": [1]}),
    (Annotated[int, Field(ge=1)], {"value": 1}, 1),
    (Annotated[Item, "a note"], {"sku": "a"}, Item(sku="a")),
    (Annotated[Item, ["a note"]], {"sku": "a"}, Item(sku="a")),
    (NewType("Part", Item), {"sku": "a"}, Item(sku="a")),
    (TypeAliasType("Parts", list[Item]), {"value": [{"sku": "a"}]}, [Item(sku="a")]),
]

REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (Review, {"score": "high"}, 'score: Input should be a valid integer (got "high")'),
    (Review, {"score": "7"}, 'score: Input should be a valid integer (got "7")'),
    (Review, {"score": 11}, "score: Input should be less than or equal to 10 (got 11)"),
    (Review, {"score": True}, "score: Input should be a valid integer (got true)"),
    (Review, {}, "score: Field required"),
    (int, {"value": 7.0}, "value: Input should be a valid integer (got 7.0)"),
    (float, {"value": "0.5"}, 'value: Input should be a valid number (got "0.5")'),
    (str, {"value": 7}, "value: Input should be a valid string (got 7)"),
    (str | None, {}, "value: Field required"),
    (str, {"answer": "x"}, "value: Field required"),
    (Item, {"sku": float("nan")}, "sku: NaN and infinity are not JSON"),
    (dict[str, Any], {"value": {"a": [float("inf")]}}, "value.a[0]: NaN and infinity are not JSON"),
    (Any, {"value": "\ud800"}, "value: holds half a surrogate pair, which is no text"),
    (Any, {"value": 10**5000}, "value: is too long a number"),
    (Any, {"value": {1}}, "value: a value of type set is not JSON"),
    (Any, {"value": {1: 2}}, "value: has a key that is no text"),
    (Level, {"value": "mid"}, "value: Input should be 'low' or 'high' (got \"mid\")"),
    (
        Node,
        {"name": "a", "children": [{"name": 1}]},
        "children[0].name: Input should be a valid string (got 1)",
    ),
    (Order, {"items": "none", "note": ""}, 'items: Input should be a valid array (got "none")'),
    (
        Order,
        {"items": '{"sku": "a"}', "note": ""},
        'items: Input should be a valid array (got "{\\"sku\\": \\"a\\"}")',
    ),
    (Order, {"items": '[{"sk": "a"}]', "note": ""}, "items[0].sku: Field required"),
    (
        Order,
        {"items": '[{"sku": NaN}]', "note": ""},
        'items: Input should be a valid array (got "[{\\"sku\\": NaN}]")',
    ),
    (Named, {"Betrag": 1, "other": 2}, "other: Extra inputs are not permitted (got 2)"),
    (Named, {"amount": 1}, "Betrag: Field required\namount: Extra inputs are not permitted (got 1)"),
    (Named, {"Betrag": 1, "all": ["a"]}, 'all[0]: Input should be a valid integer (got "a")'),
    (
        Named,
        {"Betrag": 1, "code": "x" * 200},
        f"code: String should match pattern '^[A-Z]+$' (got \"{'x' * 78}…)",
    ),
    (
        dict[str, Cat | Item],
        {"value": {"a": {"kind": "dog", "name": "Rex", "sku": 1}}},
        "value.a.kind: Input should be 'cat' (as Cat, got \"dog\")\n"
        "value.a.sku: Input should be a valid string (as Item, got 1)",
    ),
    (Picky, {"name": "nobody"}, 'name: nobody is not a name (got "nobody")'),
    (Picky, {"name": "bob"}, "arguments: KeyError: 'bob'"),
]


@pytest.mark.parametrize(("output", "arguments", "value"), ACCEPTED)
def test_valid_arguments_become_a_typed_value(output: Any, arguments: dict[str, Any], value: Any) -> None:
    found = output_schema(output).validate(arguments)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("output", "arguments", "value"), ACCEPTED)
def test_a_dumped_value_is_valid_again(output: Any, arguments: dict[str, Any], value: Any) -> None:
    schema = output_schema(output)
    dumped = schema.dump(value)
    again = {schema.wrap_key: dumped} if schema.wrapped else dumped
    if output is Named:  # an alias path has no form of its own to go out by
        again = {**{key: again[key] for key in ("Betrag", "code")}, "all": [4]}
    assert json.loads(json.dumps(dumped, allow_nan=False)) == dumped
    assert schema.validate(again) == value


@pytest.mark.parametrize(("output", "arguments", "message"), REFUSED)
def test_invalid_arguments_are_refused_by_field_and_reason(
    output: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidOutput) as caught:
        output_schema(output).validate(arguments)
    assert str(caught.value) == message
    assert message.startswith(f"{caught.value.problems[0][0]}: {caught.value.problems[0][1]}")


@pytest.mark.parametrize("tag", ["cow", None])
def test_an_unknown_tag_is_refused_with_the_tags_there_are(tag: str | None) -> None:
    pet = {"kind": tag, "name": "Rex"} if tag else {"name": "Rex"}
    with pytest.raises(InvalidOutput, match=r"^pet: .*'cat', 'dog'$"):
        output_schema(Owner).validate({"pet": pet, "level": "low"})


MENDED: list[tuple[Any, dict[str, Any], Any]] = [
    (
        Order,
        {"items": '[{"sku":"a"}]', "note": '{"keep":"text"}'},
        Order(items=[Item(sku="a")], note='{"keep":"text"}'),
    ),
    (Order, {"items": ['{"sku":"a"}'], "note": "[]"}, Order(items=[Item(sku="a")], note="[]")),
    (Order, {"items": '["{\\"sku\\":\\"a\\"}"]', "note": ""}, Order(items=[Item(sku="a")], note="")),
    (Owner, {"pet": json.dumps(REX), "level": "low"}, Owner(pet=Dog(**REX), note=None, level=Level.LOW)),  # type: ignore[arg-type]
    (Node, {"name": "a", "parent": '{"name":"b"}'}, Node(name="a", parent=Node(name="b"))),
    (Bill, {"amount": 1, "due": "2026-11-30", "tags": '["a"]'}, Bill(Decimal(1), date(2026, 11, 30), {"a"})),
    (list[Item], {"value": '[{"sku":"a"}]'}, [Item(sku="a")]),
    (int | list[int], {"value": "[1]"}, [1]),
    (str | list[int], {"value": "[1]"}, "[1]"),
    (Point, {"value": "[1]"}, Point(1)),
    (Cat | Dog, REX, Dog(kind="dog", name="Rex")),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (RootModel[Item], {"sku": "a"}, RootModel[Item](Item(sku="a"))),
]


@pytest.mark.parametrize(("output", "arguments", "value"), MENDED)
def test_arguments_are_mended_where_the_schema_says_how(
    output: Any, arguments: dict[str, Any], value: Any
) -> None:
    before = json.dumps(arguments)
    assert output_schema(output).validate(arguments) == value
    assert json.dumps(arguments) == before


def test_a_model_beneath_one_wrong_key_is_not_dug_out() -> None:
    with pytest.raises(InvalidOutput, match="sku: Field required"):
        output_schema(Item).validate({"item": {"sku": "a"}})


OWN_RULES: list[tuple[Any, dict[str, Any], Any]] = [
    (Outer, {"lax": {"counts": ["7"]}}, Outer(lax=Lax(counts=[7]))),
    (Texts, {"code": 7}, Texts(code="7")),
    (LaxEntry, {"count": "7", "kind": None}, {"count": 7, "kind": None}),
    (
        Checked,
        {"due": "2026-11-30", "price": "32", "pair": [1]},
        Checked(due=date(2026, 11, 30), price=Decimal(32), pair=(1,)),
    ),
    (Grouped, {"amount": "1,234"}, Grouped(amount=1234.0)),
]


@pytest.mark.parametrize(("output", "arguments", "value"), OWN_RULES)
def test_the_types_own_config_and_validators_win_over_strictness(
    output: Any, arguments: dict[str, Any], value: Any
) -> None:
    assert output_schema(output).validate(arguments) == value


@pytest.mark.parametrize(
    ("output", "arguments", "path"),
    [
        (Outer, {"lax": {"counts": ["7"]}, "count": "7"}, "count"),
        (Outer, {"lax": {"counts": ["x"]}}, "lax.counts[0]"),
        (Outer, {"lax": {"counts": ["7"], "review": {"score": "7"}}}, "lax.review.score"),
        (Texts, {"code": 7, "count": "7"}, "count"),
        (Checked, {"due": "2026-11-30", "count": "7"}, "count"),
        (Checked, {"pair": ["7"]}, "pair"),
        (Grouped, {"amount": "high"}, "amount"),
    ],
)
def test_a_relaxed_part_does_not_relax_its_neighbours(
    output: Any, arguments: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidOutput) as caught:
        output_schema(output).validate(arguments)
    assert [problem[0] for problem in caught.value.problems] == [path]


ALL_TYPES = list({repr(output): output for output, *_ in [*ACCEPTED, *REFUSED, *MENDED, *OWN_RULES]}.values())


def _inner(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _inner(child)


@pytest.mark.parametrize("output", ALL_TYPES, ids=repr)
def test_parameters_are_an_object_in_which_every_pointer_resolves(output: Any) -> None:
    parameters = output_schema(output).parameters()
    assert parameters["type"] == "object"
    assert "$ref" not in parameters
    defs = parameters.get("$defs", {})
    for node in _inner(parameters):
        assert "discriminator" not in node
        assert "x-plait-lax" not in node
        assert node.get("$ref", "#/$defs/").removeprefix("#/$defs/") in {*defs, ""}


@pytest.mark.parametrize("arguments", [[], "text", None])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    with pytest.raises(InvalidOutput, match="arguments: should be an object"):
        output_schema(str).validate(arguments)


def test_many_problems_are_listed_up_to_a_limit() -> None:
    with pytest.raises(InvalidOutput) as caught:
        output_schema(list[int]).validate({"value": ["x"] * 50})
    assert len(caught.value.problems) == 50
    assert str(caught.value).splitlines()[20:] == ["and 30 more"]


def _reading(output: Any, arguments: dict[str, Any]) -> Any:
    """The value, or the refusal itself; any other exception fails the test."""
    try:
        return output_schema(output).validate(arguments)
    except InvalidOutput as refused:
        return refused


def _nested(levels: int, key: str | None = None) -> Any:
    value: Any = {"name": "a"} if key else []
    for _ in range(levels):
        value = {"name": "a", key: [value]} if key else [value]
    return value


class Nest(RootModel[int | list["Nest"]]):
    pass


DEEP = [_nested(500), _nested(500, "children"), "[" * 100_000]


@pytest.mark.parametrize("output", [Any, list[Any], Node, Lax, Checked, Nest])
@pytest.mark.parametrize("value", DEEP, ids=["list", "dict", "text"])
@pytest.mark.parametrize("key", ["value", "children", "counts", "pair"])
def test_deep_nesting_ends_in_a_value_or_a_refusal(output: Any, value: Any, key: str) -> None:
    found = _reading(output, {key: value, "name": "a"})
    assert not isinstance(found, InvalidOutput) or len(str(found)) < 5000


def test_a_recursive_type_takes_what_the_limit_of_nesting_allows() -> None:
    assert isinstance(_reading(Node, _nested(60, "children")["children"][0]), Node)
    assert isinstance(_reading(Nest, {"value": _nested(100)}), Nest)


_TEXTS = [
    "value",
    "pet",
    "kind",
    "name",
    "note",
    "items",
    "sku",
    "score",
    "level",
    "children",
    "lax",
    "counts",
]
_KEYS = st.sampled_from([*_TEXTS, "due", "pair", "amount", "Betrag", "code", "all"])
_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_JSON = st.recursive(
    _PLAIN | st.sampled_from(["[]", "{}", '{"sku":"a"}', '["1"]', "2026-11-30", "dog"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_KEYS | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.sampled_from(ALL_TYPES), st.dictionaries(_KEYS, _JSON, max_size=4))
def test_any_arguments_give_a_value_or_a_refusal(output: Any, arguments: dict[str, Any]) -> None:
    found = _reading(output, arguments)
    problems = found.problems if isinstance(found, InvalidOutput) else [("a", "value")]
    assert problems
    assert all(path and reason for path, reason in problems)


@settings(deadline=None)
@given(st.sampled_from(ALL_TYPES), st.dictionaries(_KEYS, _JSON, max_size=4))
def test_what_was_accepted_has_a_text(output: Any, arguments: dict[str, Any]) -> None:
    found = _reading(output, arguments)
    assert isinstance(found, InvalidOutput) or isinstance(output_schema(output).text(found), str)

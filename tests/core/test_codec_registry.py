"""The classes of a definition: found through its types, and kept though no import leads to them."""

import dataclasses
import enum
from collections.abc import Callable
from typing import Annotated, Generic, Literal, NamedTuple, TypedDict, TypeVar, get_type_hints

import pytest
from pydantic import BaseModel

from plait.core.codec import class_name, decode, encode, registry_of, same
from plait.core.errors import ValueRefused

T = TypeVar("T")


def definition():
    class Colour(enum.Enum):
        RED = 1

    @dataclasses.dataclass
    class Leaf:
        colour: Colour
        after: "Leaf | None" = None

    class Tree(BaseModel):
        leaves: list[Leaf] = []
        beside: "dict[str, Tree] | None" = None

    Tree.model_rebuild(_types_namespace={"Leaf": Leaf, "Tree": Tree})
    return Tree, Leaf, Colour


def test_classes_made_in_a_function_are_kept_when_the_definition_has_them():
    Tree, Leaf, Colour = definition()
    registry = registry_of(Tree, Leaf)
    assert set(registry.values()) == {Tree, Leaf, Colour}
    value = Tree(leaves=[Leaf(Colour.RED, Leaf(Colour.RED))], beside={"a": Tree()})
    assert same(decode(encode(value, "key", registry), "key", registry), value)


def test_a_definition_that_is_made_again_reads_what_the_first_one_wrote():
    Tree, Leaf, Colour = definition()
    plain = encode(Tree(leaves=[Leaf(Colour.RED)]), "key", registry_of(Tree, Leaf))
    Again, AgainLeaf, _ = definition()
    back = decode(plain, "key", registry_of(Again, AgainLeaf))
    assert (type(back), type(back.leaves[0])) == (Again, AgainLeaf)


def test_classes_made_in_a_function_are_refused_when_the_definition_lacks_them():
    Tree, Leaf, Colour = definition()
    for value in (Tree(), Leaf(Colour.RED), Colour.RED):
        with pytest.raises(ValueRefused, match=r"key\[0\]: .*inside a function"):
            encode([value], "key")


def test_a_class_that_shares_its_name_with_another_is_refused():
    Tree, *_ = definition()
    Other, *_ = definition()
    with pytest.raises(ValueRefused, match="another class"):
        encode(Other(), "key", registry_of(Tree, Other))


class Kind(enum.Enum):
    A = "a"


class Part(BaseModel):
    kind: Literal[Kind.A] = Kind.A


class Wrapped(BaseModel, Generic[T]):
    inside: T


class Row(NamedTuple):
    part: "Part | None"


class Table(TypedDict):
    rows: list[Row]


@dataclasses.dataclass
class Pair(Generic[T]):
    left: T
    right: "Pair[T] | None" = None


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        (int, set()),
        (None, set()),
        (Part, {Part, Kind}),
        (dict[str, Part | None] | int, {Part, Kind}),
        (Table, {Row, Part, Kind}),
        (Wrapped[list[Row]], {Wrapped, Row, Part, Kind}),
        (Pair[Kind], {Pair, Kind}),
        (Annotated[Kind, "a mark"], {Kind}),
        (Callable[[Part], Row], {Part, Row, Kind}),
        (TypeVar("Bound", bound=Part), {Part, Kind}),
    ],
)
def test_a_registry_holds_every_class_that_is_reachable(annotation, found):
    assert registry_of(annotation) == {class_name(cls): cls for cls in found}
    assert registry_of(list[annotation]) == registry_of(annotation)


def test_a_class_is_named_by_module_and_place():
    assert class_name(Part) == f"{__name__}:Part"
    assert class_name(Wrapped[int]) == f"{__name__}:Wrapped"
    assert class_name(get_type_hints(Row)["part"].__args__[0]) == f"{__name__}:Part"

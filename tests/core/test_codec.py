"""Values across a checkpoint: each comes back equal and of the same type."""

import collections
import dataclasses
import datetime as dt
import enum
import functools
import ipaddress
import json
import re
import threading
import uuid
import zoneinfo
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    PrivateAttr,
    RootModel,
    TypeAdapter,
    field_validator,
)
from pydantic import dataclasses as pydantic_dataclasses

from plait.core.codec import decode, encode, registry_of, same

T = TypeVar("T")
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin") if "Europe/Berlin" in zoneinfo.available_timezones() else dt.UTC
AUTUMN_HOUR = dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)  # it comes twice


class Colour(enum.Enum):
    RED = "red"
    CRIMSON = "red"  # noqa: PIE796 - an alias is meant


class Level(enum.IntEnum):
    LOW = 1


class Tone(enum.StrEnum):
    WARM = "warm"


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    label: Any = "here"


Pair = collections.namedtuple("Pair", "left right")


class Item(BaseModel):
    class Size(enum.Enum):
        SMALL = "s"

    name: str
    price: Decimal = Decimal(0)
    size: Size = Size.SMALL


class Gift(Item):
    wrapping: str | None = None


class Order(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    first: Item
    rest: list[Item] = Field(default_factory=list, alias="others")
    note: str = None  # type: ignore[assignment]
    _seen: Any = PrivateAttr(default=0)


class Picky(BaseModel):
    """Its validator takes raw text only, and fails on what it made itself."""

    words: list[str]

    @field_validator("words", mode="before")
    @classmethod
    def split(cls, text):
        return text.split()


class Box(BaseModel, Generic[T]):
    inside: T


class Tags(RootModel[set[str]]):
    pass


@dataclasses.dataclass
class Count:
    words: list[str]
    total: int = dataclasses.field(init=False)
    unset: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self):
        self.total = len(self.words)
        self.longest = max(self.words, default="")

    @functools.cached_property
    def joined(self):
        return threading.Lock()  # never to be kept


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    value: Any
    after: "Node | None" = None

    @dataclasses.dataclass(order=True)
    class Inner:
        depth: float


@pydantic_dataclasses.dataclass
class Checked:
    size: int = Field(gt=0)


def counted(*words, **attributes):
    count = Count(list(words))
    assert count.joined
    vars(count).update(attributes)
    return count


def opened(order, seen):
    order._seen = seen
    return order


KEPT = {
    "none": None,
    "text": "午饭 32 🍚",
    "plain data": {"a": [1, -2.5, True, None, {"b": {}}], "": []},
    "a dict that looks encoded": {"$type": "Decimal", "$value": [{"$type": {"$type": 1}}]},
    "the largest integers": [2**63 - 1, -(2**63), 2**63, 2**70, -(2**70), 10**6000],
    "odd floats": [float("nan"), float("inf"), float("-inf"), -0.0, 5e-324],
    "decimals": [Decimal("1.10"), Decimal("-0.00"), Decimal("1E+99"), Decimal("NaN"), Decimal("sNaN")],
    "fractions": [Fraction(-1, 3), Fraction(2**70, 3)],
    "complex": [1 + 2j, complex(-0.0, float("nan"))],
    "bytes": [b"\xff\x00", bytearray(b"ab"), b""],
    "naive datetime": dt.datetime(2026, 11, 30, 12, 0, 0, 1),
    "datetimes of one zone": [AUTUMN_HOUR, AUTUMN_HOUR.replace(fold=1)],
    "datetime with an offset": dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3, seconds=7))),
    "datetime with a named offset": dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(0), "Z")),
    "datetime that pydantic read": TypeAdapter(dt.datetime).validate_json('"2026-11-30T10:00:00+02:00"'),
    "date and span": [dt.date.max, dt.timedelta(-1, 2, 3)],
    "times": [dt.time(2, 30, fold=1), dt.time(1, tzinfo=dt.UTC), dt.time(1, tzinfo=BERLIN)],
    "uuid": uuid.UUID(int=7),
    "paths": [Path("a/../b"), PurePosixPath("/x"), PureWindowsPath("C:\\x\\y"), Path()],
    "patterns": [re.compile("(?i)a+", re.M), re.compile(rb"\d")],
    "addresses": [ipaddress.ip_address("::1%eth0"), ipaddress.ip_network("10.0.0.0/8")],
    "url": HttpUrl("https://example.org/a?b=c"),
    "tuples": [(), (1, [2, (3,)]), ((),)],
    "sets": [set(), {1, "a", None, (2, 3)}, frozenset({frozenset({1}), frozenset()}), {float("nan")}],
    "dict with other keys": {1: "a", "1": "b", (2, Colour.RED): {None: 3}, 2.5: [], float("nan"): 0},
    "collections": [deque([1, (2,)], maxlen=3), Counter("aab"), OrderedDict({2: 1, 1: 2}), range(9, 0, -2)],
    "enums": [Colour.RED, Colour.CRIMSON, Level.LOW, Tone.WARM, Item.Size.SMALL, re.I],
    "flags": [Right.READ, Right.READ | Right.WRITE, Right(0), ~Right.READ, re.I | re.M],
    "enums as keys": {Tone.WARM: 1, Level.LOW: 2},
    "named tuples": [Point(1), Point(1, (2,)), Pair([], {Colour.RED})],
    "model": Item(name="tea", price=Decimal("1.10")),
    "model with subclasses in fields": Order(first=Gift(name="a"), others=[Gift(name="b", wrapping="red")]),
    "model with extras": Order(first=Item(name="a"), when=dt.date(2026, 1, 1), **{"$type": (1,)}),
    "model with a private attribute": opened(Order(first=Item(name="a")), {1, 2}),
    "model whose validator takes raw input only": Picky(words="a b"),
    "model made without checks": Item.model_construct(price="free"),
    "generic models": [Box[int](inside=1), Box[Any](inside=Box(inside=(1,))), Box[Item | None](inside=None)],
    "generic of generic": Box[list[Box[Item]]](inside=[Box[Item](inside=Item(name="a"))]),
    "root models": [Tags({"b", "a"}), RootModel[tuple[int, ...]]((1, 2))],
    "dataclass": counted("a", "bcd"),
    "dataclass with attributes beside": counted(extra=(1, 2)),
    "frozen dataclasses": {Node(1), Node((2,), Node({}.get("x")))},
    "nested dataclass": Node.Inner(0.5),
    "pydantic dataclass": Checked(3),
    "answer of a model": AIMessage(
        "hi",
        tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
    "message of a user": HumanMessage([{"type": "text", "text": "x"}]),
    "message of a tool": ToolMessage("3", tool_call_id="1", artifact={1}),
}


def through_msgpack(plain):
    serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    return serde.loads_typed(serde.dumps_typed(plain))


def through_json(plain):
    return json.loads(json.dumps(plain, allow_nan=False))


@pytest.mark.parametrize("wire", [through_msgpack, through_json])
@pytest.mark.parametrize("value", KEPT.values(), ids=KEPT.keys())
def test_a_value_comes_back_equal_and_of_the_same_type(value, wire):
    plain = encode(value, "key")
    assert same(wire(plain), plain)
    back = decode(wire(plain), "key")
    assert type(back) is type(value)
    assert same(back, value)
    if '"nan"' not in json.dumps(plain).lower():
        assert back == value


def test_what_is_plain_already_is_passed_on_without_a_copy():
    value = {"steps": [{"n": n, "text": "a"} for n in range(3)]}
    assert encode(value, "key") is value
    assert decode(value, "key") is value
    assert encode([value, (1,)], "key")[0] is value


def test_sets_are_written_in_one_order_whatever_order_they_hold():
    upward, downward = set([0, 8, 16, "a"]), set(["a", 16, 8, 0])  # noqa: C405 - the order is meant
    assert list(upward) != list(downward)
    assert encode(upward, "key") == encode(downward, "key")


def test_a_subclass_in_a_field_keeps_what_it_adds():
    back = decode(encode(Order(first=Gift(name="a", wrapping="red")), "key"), "key")
    assert type(back.first) is Gift
    assert back.first.wrapping == "red"


def test_the_fields_that_were_set_are_known_again():
    back = decode(encode(Item(name="tea"), "key"), "key")
    assert back.model_fields_set == {"name"}
    assert back.model_dump(exclude_unset=True) == {"name": "tea"}


def test_a_private_attribute_comes_back():
    assert decode(encode(opened(Order(first=Item(name="a")), (1,)), "key"), "key")._seen == (1,)


def test_a_dataclass_keeps_unset_fields_unset_and_works_cached_properties_out_again():
    back = decode(encode(counted("a"), "key"), "key")
    assert vars(back) == {"words": ["a"], "total": 1, "longest": "a"}


def test_the_second_of_two_like_hours_stays_the_second():
    later = AUTUMN_HOUR.replace(fold=1)
    back = decode(encode(later, "key"), "key")
    assert (back.fold, back.tzinfo, back.utcoffset()) == (1, BERLIN, later.utcoffset())


def test_a_registry_changes_nothing_for_classes_that_can_be_imported():
    registry = registry_of(Order, Box[Item])
    for value in (KEPT["model with extras"], KEPT["generic of generic"]):
        assert encode(value, "key", registry) == encode(value, "key")
        assert same(decode(encode(value, "key"), "key", registry), value)

"""Values that would not survive a checkpoint are refused when written, and what counts as the same."""

import collections
import dataclasses
import datetime as dt
import json
import threading
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr, SecretStr

from plait.core.codec import decode, encode, same
from plait.core.errors import ValueRefused

T = TypeVar("T")


class Item(BaseModel):
    name: str
    price: Decimal = Decimal(0)


class Gift(Item):
    pass


class Order(BaseModel):
    model_config = ConfigDict(extra="allow")

    first: Item
    _seen: Any = PrivateAttr(default=0)


class Box(BaseModel, Generic[T]):
    inside: T


class Point(NamedTuple):
    x: int
    label: Any = "here"


@dataclasses.dataclass
class Node:
    value: Any


def with_seen(seen):
    order = Order(first=Item(name="a"))
    order._seen = seen
    return order


def with_attribute(lock):
    node = Node(1)
    node.lock = lock
    return node


class Text(str):
    __slots__ = ()


class Many(list):
    pass


class Zone(dt.tzinfo):
    def utcoffset(self, moment):
        return dt.timedelta(0)


@dataclasses.dataclass
class Trouble(Exception):
    code: int = 1


def words():
    yield "a"


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def holding_itself():
    value = {"items": []}
    value["items"].append({"back": value})
    return value


REFUSED = {
    "lambda": (lambda: 1, "key", "function"),
    "function in a list": ({"a": [1, len]}, "key.a[1]", "builtin_function_or_method"),
    "class": (Item, "key", "ModelMetaclass"),
    "module": (json, "key", "module"),
    "generator": (words(), "key", "generator"),
    "lock": ({"unit lock": threading.Lock()}, "key['unit lock']", "lock"),
    "object": ((object(),), "key[0]", "object"),
    "secret": (SecretStr("x"), "key", "SecretStr"),
    "str subclass": ({"a": Text("x")}, "key.a", "Text"),
    "str subclass as a key": ({Text("x"): 1}, "key.x", "Text"),
    "list subclass": (Many(), "key", "Many"),
    "defaultdict": (collections.defaultdict(list), "key", "defaultdict"),
    "lone surrogate": ({"a": "\ud83d"}, "key.a", "str"),
    "lone surrogate as a key": ({"a": {"\ud83d": 1}}, "key.a", "str"),
    "lone surrogate in a path": (Path("\udcff"), "key", "str"),
    "strange time zone": (dt.datetime(2026, 1, 1, tzinfo=Zone()), "key", "Zone"),
    "extra field of a model": (Order(first=Item(name="a"), rule=[len]), "key.rule[0]", "builtin"),
    "private attribute": (with_seen(object()), "key._seen", "object"),
    "field of a dataclass": (Node([Node(len)]), "key.value[0].value", "builtin_function_or_method"),
    "attribute of a dataclass": (with_attribute(threading.Lock()), "key.lock", "lock"),
    "field of a named tuple": (Point(1, len), "key.label", "builtin_function_or_method"),
    "value under another key": ({(1, 2): len}, "key[(1, 2)]", "builtin_function_or_method"),
    "dataclass that is an exception": (Trouble(), "key", "Trouble"),
    "too deep": (nested(201), None, "list"),
    "far too deep": (nested(5000), None, "list"),
    "holding itself": (holding_itself(), "key.items[0].back", "dict"),
    "generic over a type without a name": (Box[Callable[[], int]].model_construct(inside=1), "key", "Box"),
}


@pytest.mark.parametrize(("value", "where", "type_name"), REFUSED.values(), ids=REFUSED.keys())
def test_what_would_not_survive_is_refused_naming_key_and_type(value, where, type_name):
    with pytest.raises(ValueRefused) as refused:
        encode(value, "key")
    assert refused.value.value_type.__name__.startswith(type_name)
    assert where is None or refused.value.key == where
    assert len(str(refused.value)) < 500


def test_a_value_that_holds_itself_is_called_that():
    with pytest.raises(ValueRefused, match="contains itself"):
        encode(holding_itself(), "key")


def test_two_hundred_levels_are_kept():
    assert same(decode(encode(nested(200), "key"), "key"), nested(200))


def test_values_held_twice_are_no_cycle():
    shared = [1]
    assert decode(encode({"a": shared, "b": (shared, shared)}, "key"), "key") == {"a": [1], "b": ([1], [1])}


NOON = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)

DIFFERENT = [
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    ([1], (1,)),
    (Decimal("1.1"), Decimal("1.10")),
    ({1}, {1.0}),
    ({1: 2}, {True: 2}),
    ({"a": 1}, {"a": 1, "b": 1}),
    (NOON, NOON.replace(fold=1)),
    (NOON, NOON.astimezone(dt.timezone.max)),
    (deque([1]), deque([1], maxlen=2)),
    (Item(name="a"), Item(name="a", price=Decimal(0))),
    (Item(name="a"), Gift(name="a")),
    (Order(first=Item(name="a")), Order(first=Gift(name="a"))),
    (Box[int](inside=1), Box(inside=1)),
    (Node(1), Node(1.0)),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_values_that_differ_in_type_or_content_are_not_the_same(left, right):
    assert not same(left, right)
    assert not same([{"a": left}], [{"a": right}])

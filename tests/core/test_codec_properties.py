"""Laws of the codec, over any mixture of values that can be kept."""

import dataclasses
import datetime as dt
import enum
import json
import re
import zoneinfo
from collections import deque
from decimal import Decimal
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel, ConfigDict

from plait.core.codec import decode, encode, same

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin") if "Europe/Berlin" in zoneinfo.available_timezones() else dt.UTC


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Tone(enum.StrEnum):
    WARM = "warm"


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Pair(NamedTuple):
    left: Any
    right: Any


class Item(BaseModel):
    name: str


class Gift(Item):
    wrapping: str | None = None


class Order(BaseModel):
    model_config = ConfigDict(extra="allow")

    first: Item


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    value: Any
    after: "Node | None" = None


@dataclasses.dataclass
class Count:
    words: list[Any]
    total: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.total = len(self.words)
        self.first = self.words[:1]


def through_msgpack(plain):
    serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    return serde.loads_typed(serde.dumps_typed(plain))


def through_json(plain):
    return json.loads(json.dumps(plain, allow_nan=False))


offset = dt.timezone(dt.timedelta(hours=5, minutes=45))
zones = st.sampled_from([None, dt.UTC, BERLIN, offset, dt.timezone.min])
hashable_leaves = st.one_of(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats() | st.text(max_size=6),
    st.binary(max_size=6) | st.fractions() | st.complex_numbers() | st.uuids(),
    st.decimals(allow_nan=False) | st.dates() | st.times(timezones=zones) | st.timedeltas(),
    st.datetimes(timezones=zones) | st.ip_addresses(),
    st.sampled_from([*Colour, *Level, *Tone, Right(0), Right(3), Path("a/b"), PureWindowsPath("c:/x"), re.I]),
)
hashables = st.recursive(
    hashable_leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner),
        st.frozensets(inner, max_size=3),
        st.builds(Node, inner, st.none() | st.builds(Node, inner)),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=5,
)
names = st.sampled_from(["a", "b", "$type", "$value", "unit price", "城市"]) | st.text(max_size=3)
kept_values = st.recursive(
    hashables | st.builds(bytearray, st.binary(max_size=4)) | st.just(Decimal("sNaN")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(names, inner, max_size=3),
        st.dictionaries(hashables, inner, max_size=3),
        st.sets(hashables, max_size=3),
        st.builds(deque, st.lists(inner, max_size=3)),
        st.builds(Node, inner),
        st.builds(Order, first=st.builds(Gift, name=st.text(max_size=3)), extra=inner),
        st.builds(Count, st.lists(inner, max_size=2)),
    ),
    max_leaves=12,
)


@given(kept_values)
def test_any_mixture_of_kept_values_comes_back_the_same(value):
    plain = encode(value, "key")
    assert same(decode(through_msgpack(plain), "key"), value)
    assert same(decode(through_json(plain), "key"), value)
    assert encode(decode(plain, "key"), "key") == plain


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "$typ"]), inner),
)


@given(plain_values)
def test_plain_data_is_its_own_encoding(value):
    assert encode(value, "key") is value
    assert decode(value, "key") is value

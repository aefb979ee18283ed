"""What tools return, as message content: readable, safe to keep, and never too long."""

import io
import json
import math
import re
import uuid
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from plait.core.errors import PlaitError
from plait.nodes.content import Unshowable, cap, clean_content, to_content

Point = namedtuple("Point", "x y")


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Item(BaseModel):
    sku: str
    price: Decimal
    token: SecretStr = SecretStr("hidden")


@dataclass
class Box:
    items: list[Any] = field(default_factory=list)


class Named:
    def __str__(self):
        return "named"


class Addressed:
    def __str__(self):
        return f"thing at {hex(id(self))}"


class Broken:
    def __str__(self):
        raise ValueError("no text")


class Array:
    def tolist(self):
        return [1, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (None, "(no output)"),
        ([], "[]"),
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
        ({"城市": "北京"}, '{"城市": "北京"}'),
        ({2, 10, 1}, "[1, 2, 10]"),
        ({"b", "a"}, '["a", "b"]'),
        ({1, "a", None}, '["a", 1, null]'),
        ({frozenset({2}), frozenset({1})}, "[[1], [2]]"),
        ({"v": math.nan, "w": [math.inf, -math.inf]}, '{"v": "NaN", "w": ["Infinity", "-Infinity"]}'),
        ({"d": datetime(2026, 11, 30, 8, 5, tzinfo=UTC)}, '{"d": "2026-11-30T08:05:00+00:00"}'),
        ([date(2026, 11, 30), time(8, 5)], '["2026-11-30", "08:05:00"]'),
        (date(2026, 11, 30), "2026-11-30"),
        ({"a": Decimal("1.10"), "b": Fraction(1, 3)}, '{"a": "1.10", "b": "1/3"}'),
        ([uuid.UUID(int=1), Path("a/b")], '["00000000-0000-0000-0000-000000000001", "a/b"]'),
        ([Colour.RED, Level.HIGH], '["red", 3]'),
        (b"caf\xc3\xa9", "café"),
        ({"b": bytearray(b"x")}, '{"b": "x"}'),
        ({7: "a", None: "b", True: "c", (1, 2): "d"}, '{"7": "a", "null": "b", "true": "c", "[1, 2]": "d"}'),
        (OrderedDict(z=1, a=2), '{"z": 1, "a": 2}'),
        ({"z": 1, "a": 2}.keys(), '["z", "a"]'),
        ({"z": 1, "a": 2}.values(), "[1, 2]"),
        (deque([1, (2, 3)]), "[1, [2, 3]]"),
        (range(3), "[0, 1, 2]"),
        (Point(1, [2]), '{"x": 1, "y": [2]}'),
        (Box([Box()]), '{"items": [{"items": []}]}'),
        ([Item(sku="a", price="1.5")], '[{"sku": "a", "price": "1.5", "token": "**********"}]'),
        (Named(), "named"),
        ({"n": Named(), "t": timedelta(hours=1)}, '{"n": "named", "t": "1:00:00"}'),
        ({"v": Array()}, '{"v": [1, 2]}'),
        (["a", "b"], '["a", "b"]'),
    ],
)
def test_a_return_value_is_shown_as_readable_text(value, text):
    assert to_content(value, "look") == text


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (b"\xff", "a value of type bytes"),
        ((n for n in "ab"), "a value of type generator"),
        (iter([1]), "a value of type list_iterator"),
        (Item, "the class Item"),
        (len, "a value of type builtin_function_or_method"),
        (json, "a value of type module"),
        (object(), "a value of type object"),
        (Addressed(), "a value of type Addressed"),
        (Broken(), "a value of type Broken"),
        (io.StringIO("x"), "a value of type StringIO"),
        ({"deep": [object()]}, "a value of type object at deep[0]"),
        ([10**5000], "a value of type int at [0]"),
    ],
)
def test_what_cannot_be_shown_names_tool_and_type(value, named):
    with pytest.raises(
        Unshowable, match=re.escape(f"tool 'look' returned {named}, which cannot be shown")
    ) as caught:
        to_content(value, "look")

    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, PlaitError)


def test_a_value_that_contains_itself_is_refused():
    value: list[Any] = []
    value.append({"again": value})

    with pytest.raises(Unshowable, match="contains itself"):
        to_content(value, "look")


def test_a_value_may_hold_the_same_part_twice():
    part = [1]

    assert to_content([part, part], "look") == "[[1], [1]]"


def test_very_deep_values_are_refused_without_overflow():
    value: list[Any] = []
    for _ in range(5000):
        value = [value]

    with pytest.raises(Unshowable, match="nested deeper than 64"):
        to_content(value, "look")


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "text", "text": "hi"}],
        [
            {"type": "text", "text": "hi", "id": "lc_1"},
            {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
        ],
        [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}],
        [{"type": "file", "file_id": "f1"}],
        [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}],
        [{"type": "document", "source": {"type": "text", "data": "x"}, "title": "T"}],
    ],
)
def test_content_blocks_stay_content_blocks(blocks):
    assert to_content(blocks, "look") == blocks


def test_text_between_blocks_becomes_a_block():
    shown = to_content(["see:", {"type": "image", "url": "https://example.org"}], "look")

    assert shown[0] == {"type": "text", "text": "see:"}


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "file", "name": "a.txt"}, {"type": "dir", "name": "b"}],
        [{"type": "file", "name": "a.txt", "size": 3}],
        [{"type": "video", "url": "https://example.org", "title": "A film"}],
        [{"type": "text", "text": 5}],
        [{"type": "text", "text": "hit", "line": 3}],
        [{"type": "table"}],
    ],
)
def test_rows_of_data_that_have_a_type_are_data(rows):
    assert json.loads(to_content(rows, "look")) == rows


shapes = st.recursive(
    st.one_of(
        st.none(),
        st.integers(),
        st.floats(),
        st.decimals(),
        st.datetimes(),
        st.uuids(),
        st.text(),
        st.binary(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), inner, max_size=3),
        st.tuples(inner, inner),
        st.sets(st.one_of(st.integers(), st.text(max_size=3)), max_size=3),
    ),
    max_leaves=15,
)


def shown(value):
    try:
        return json.loads(to_content(value, "look"), parse_constant=pytest.fail)
    except Unshowable as error:
        return str(error)


@given(shapes)
def test_any_data_is_json_or_refused_by_name(value):
    data = shown([value])

    assert isinstance(data, list) or data.startswith("tool 'look' returned a value of type")


def test_long_text_keeps_its_ends_and_says_that_it_was_cut():
    text = "start" + "x" * 399_990 + "close"
    content, full = cap(text, 10_000)

    assert len(content) <= 10_300
    assert content.startswith("start")
    assert content.endswith("close")
    assert "cut" in content
    assert "400000" in content
    assert full == text


@pytest.mark.parametrize("content", ["", "short", "x" * 100, [{"type": "text", "text": "x" * 100}], []])
def test_content_within_the_limit_is_untouched(content):
    assert cap(content, 100) == (content, None)


def test_text_blocks_share_the_limit_and_other_blocks_stay():
    image = {"type": "image", "url": "https://example.org"}
    blocks = [{"type": "text", "text": letter * 100} for letter in "abcd"]
    content, full = cap([blocks[0], image, *blocks[1:]], 150)

    assert [block["type"] for block in content] == ["text", "image", "text"]
    assert content[0]["text"].startswith("a" * 75 + "\n[... cut here: 400 characters")
    assert content[2]["text"] == "d" * 75
    assert full == "a" * 100 + "b" * 100 + "c" * 100 + "d" * 100


def texts(content):
    return [content] if isinstance(content, str) else [block["text"] for block in content]


@given(
    st.one_of(st.text(max_size=400), st.lists(st.text(max_size=200), max_size=5)),
    st.integers(min_value=0, max_value=300),
)
def test_capped_text_is_never_longer_than_limit_and_note(given_text, limit):
    content = given_text
    if isinstance(given_text, list):
        content = [{"type": "text", "text": text} for text in given_text]
    capped, full = cap(content, limit)
    whole = "".join(texts(content))

    assert len("".join(texts(capped))) <= limit + 300
    assert full == (whole if len(whole) > limit else None)
    assert "".join(texts(capped)).count("cut here") - whole.count("cut here") == (full is not None)
    assert "".join(texts(capped)).startswith(whole[: limit // 2])


def test_broken_surrogates_in_content_are_mended_and_said_so():
    assert clean_content("a\ud83d") == ("a\ufffd", True)
    assert clean_content([{"type": "text", "text": "\ud83d\ude00"}]) == (
        [{"type": "text", "text": "😀"}],
        True,
    )
    assert clean_content("fine") == ("fine", False)

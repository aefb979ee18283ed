"""Plain values: what stays, what is left out, and that no nesting overflows the stack."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.nodes.plain import MAX_DEPTH, clean_text, plain

anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.binary(max_size=4),
        st.text(st.characters(exclude_categories=()), max_size=8),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=4), st.integers()), inner, max_size=4),
    ),
    max_leaves=20,
)


def nested(depth):
    value = inner = {}
    for _ in range(depth - 1):
        inner["a"] = {}
        inner = inner["a"]
    return value


@pytest.mark.parametrize(
    ("given_text", "clean"),
    [
        ("plain", ("plain", False)),
        ("北京 😀", ("北京 😀", False)),
        ("\ud83d\ude00!", ("😀!", True)),
        ("a\ud83dx", ("a\ufffdx", True)),
        ("\ude00\ud83d", ("\ufffd\ufffd", True)),
        ("\ud83d\ud83d\ude00", ("\ufffd😀", True)),
    ],
)
def test_surrogate_halves_are_joined_and_lone_ones_replaced(given_text, clean):
    assert clean_text(given_text) == clean


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"a": {"b": 2**63}}, "integer beyond 64 bits at a.b"),
        ({"a": [1, -(2**63) - 1]}, "integer beyond 64 bits at a[1]"),
        ({"x": math.nan}, "NaN is not JSON at x"),
        ({"x": -math.inf}, "-Infinity is not JSON at x"),
        ({"x": b"\x00"}, "a value of type bytes is not JSON at x"),
        ({"x": {1: 2}}, "a key of type int is not JSON at x"),
        (2**64, "integer beyond 64 bits"),
        (nested(MAX_DEPTH + 1), "nested deeper than 64"),
        (nested(500), "nested deeper than 64"),
    ],
)
def test_a_fault_says_what_and_where(value, fault):
    assert plain(value).faults == (fault,)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), nested(MAX_DEPTH), {"a": [1, "x", None, True, 0.5]}])
def test_plain_values_stay_as_they_are(value):
    copy = plain(value)

    assert (copy.value, copy.faults) == (value, ())


def test_only_the_faulty_parts_are_left_out():
    assert plain({"a": 1, "b": [1, math.nan, (2, b"")], 3: 4}).value == {"a": 1, "b": [1, [2]]}


def test_keys_and_texts_are_mended_and_said_so():
    copy = plain({"k\ud83d": ["\ud83d\ude00"]})

    assert (copy.value, copy.repaired) == ({"k\ufffd": ["😀"]}, True)


@given(anything)
def test_whatever_comes_in_json_comes_out(value):
    copy = plain(value)

    assert json.loads(json.dumps(copy.value, allow_nan=False)) == copy.value
    json.dumps(copy.value, ensure_ascii=False).encode("utf-8")
    assert plain(copy.value).faults == ()

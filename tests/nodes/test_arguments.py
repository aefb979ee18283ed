"""Reading what a model wrote as the arguments of a call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.nodes.arguments import QUOTE, read_arguments


@pytest.mark.parametrize("nothing", [None, "", "  ", "null", '""', '"null"', "{}", {}])
def test_a_call_without_arguments_has_none(nothing):
    read = read_arguments(nothing)

    assert (read.value, read.error) == ({}, None)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"q": "x",}', {"q": "x"}),
        ('{"q": ["a", "b", ], "n": 1 , }', {"q": ["a", "b"], "n": 1}),
        ('{"q": "a,}", }', {"q": "a,}"}),
        ("{'q': 'x', 'n': None, 'ok': True}", {"q": "x", "n": None, "ok": True}),
        ("{'it': \"it's\"}", {"it": "it's"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
    ],
)
def test_what_is_surely_meant_is_mended(written, meant):
    read = read_arguments(written)

    assert (read.value, read.error, read.repaired) == (meant, None, True)


@pytest.mark.parametrize(
    ("written", "meant"),
    [('{"q": "x"}', {"q": "x"}), ('{"q": "line\nbreak"}', {"q": "line\nbreak"}), ({"a": 1}, {"a": 1})],
)
def test_good_arguments_stay_untouched(written, meant):
    read = read_arguments(written)

    assert (read.value, read.error, read.repaired) == (meant, None, False)


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ('{"q": "x"', 'arguments were not valid JSON (Expecting \',\' delimiter at character 9): {"q": "x"'),
        ("1}", "arguments were not valid JSON (Extra data at character 1): 1}"),
        ("{'q': f()}", "arguments were not valid JSON"),
        ("{'q': (1, 2)}", "arguments were not valid JSON"),
        ("{'q': {1, 2}}", "a value of type set is not JSON at q"),
        (r"{'path': 'C:\dir'}", "arguments were not valid JSON"),
        ("[1]", "arguments were not a JSON object but a list: [1]"),
        ('"text"', 'arguments were not a JSON object but text: "text"'),
        ([1], "arguments were not a JSON object but a list: [1]"),
        ("7", "arguments were not a JSON object but a number: 7"),
        ('{"a": {"b": 9223372036854775808}}', "integer beyond 64 bits at a.b"),
        ('{"a": ' + "9" * 5000 + "}", "integer beyond 64 bits at a"),
        ('{"a": NaN}', "NaN is not JSON at a"),
        ('{"a": [1e999]}', "Infinity is not JSON at a[0]"),
        ('{"a":' * 500 + "1" + "}" * 500, "nested deeper than 64"),
        ('{"a":' + "[" * 100_000, "nested deeper than 64"),
        ("{'a':" + "[" * 100_000, "arguments were not valid JSON"),
    ],
)
def test_arguments_that_cannot_be_read_say_why(written, error):
    read = read_arguments(written)

    assert read.value == {}
    assert read.error.startswith(error)


def test_an_error_quotes_no_more_than_is_useful():
    error = read_arguments("{" + "x" * 10_000).error

    assert "{" + "x" * (QUOTE - 1) + "…" in error
    assert len(error) < QUOTE + 100


def test_broken_surrogates_in_arguments_are_mended():
    read = read_arguments('{"a": "\\ud83d", "b": "\\ud83d\\ude00"}')

    assert (read.value, read.repaired) == ({"a": "\ufffd", "b": "😀"}, True)


@given(st.text(st.sampled_from("{}[]()'\"\\,:.-_019 \n\tatrueNoneé\ud83d"), max_size=40))
def test_no_text_is_too_odd_to_be_read_or_refused(text):
    read = read_arguments(text)

    assert isinstance(read.value, dict)
    assert read.error is None or read.value == {}

"""Texts become located trees; what could harm is refused at its place."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.spec.emit import emitted
from plait.spec.environment import escaped, substituted
from plait.spec.scalars import scalar_value
from plait.spec.source import LARGEST, read_bytes, read_text
from plait.spec.tree import Table, found, plain


def faults(text: str, variables: dict[str, str] | None = None) -> list[str]:
    return [str(fault) for fault in read_text(text, "w.yaml", variables or {}).faults]


def test_every_node_knows_its_place():
    root = read_text("a: 1\nb:\n  - x\n  - {c: [y]}\n", "w.yaml", {}).root

    assert isinstance(root, Table)
    place = found(root, ["b", 1, "c", 0]).place
    assert (place.file, place.line, place.column) == ("w.yaml", 4, 10)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("2026-11-30", "2026-11-30"),
        ("12:30", "12:30"),
        ("010", 10),
        *[("0x1f", 31), ("0o17", 15), ("1e3", 1000.0), (".5", 0.5), ("-7", -7), ("true", True), ("~", None)],
        *[("1_000", "1_000"), ("0b1", "0b1"), ("=", "="), ("nan", "nan"), (".inf", float("inf"))],
    ],
)
def test_words_are_read_by_the_core_schema_of_yaml_1_2(word, value):
    assert scalar_value(word) == value
    assert type(scalar_value(word)) is type(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: !!python/object:os.x 1", "w.yaml:1:4: tag"),
        ("a: !x {b: 1}", "w.yaml:1:4: tag"),
        ("a: 1\na: 2", "w.yaml:2:1: duplicate-key"),
        ("a: &x [*x]", "w.yaml:1:8: alias"),
        ("a: *x", "w.yaml:1:4: alias"),
        ("a: 1\n---\nb: 2", "w.yaml:2:1: documents"),
        ("? [a]\n: b", "w.yaml:1:3: wrong-type"),
        ("a: [1", "w.yaml:2:1: syntax"),
        ("a: \x07", "w.yaml:1:4: syntax"),
        ("a: \ud800", "w.yaml:1:4: syntax"),
        ("", "w.yaml:1:1: empty"),
        ("# nothing", "w.yaml:1:1: empty"),
    ],
)
def test_what_is_refused_is_told_with_its_place(text, told):
    assert faults(text)[0].startswith(told)


def test_faults_that_can_be_passed_over_are_told_together():
    assert len(faults("a: !x 1\na: 2\nb: ${NO}\nc: 1\nc: 1")) == 4


BOMBS = {
    "nested lists": "[" * 200_000,
    "nested mappings": "{a: " * 100_000,
    "nested in blocks": "".join(" " * depth + "a:\n" for depth in range(1000)),
    "dashes": "- " * 100_000,
    "question marks": "? " * 100_000,
    "many values": "- a\n" * 240_000,
    "many keys": "".join(f"k{number}: 1\n" for number in range(80_000)),
    "billion laughs": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{name}: &{name} [{', '.join([f'*{of}'] * 9)}]\n" for of, name in pairwise("abcdefghi")),
    "deep aliases": "".join(
        f"a{number}: &a{number} [[[[[[[[*a{number - 1}]]]]]]]]\n" if number else "a0: &a0 x\n"
        for number in range(12)
    ),
    "a long word": "a: " + "x" * 990_000,
    "a long number": "a: " + "9" * 990_000,
    "too large": "a" * (LARGEST + 1),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS.keys())
def test_bombs_are_refused_or_read_quickly(text):
    began = time.perf_counter()
    told = faults(text)

    assert time.perf_counter() - began < 2
    assert not told or told[0].split(": ")[1].split(" ")[0] in ("too-deep", "too-large", "syntax"), told


def test_aliases_stand_for_what_they_name():
    root = read_text("a: &x {b: [1]}\nc: *x\n", "w.yaml", {}).root

    assert root is not None
    assert plain(root) == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_a_byte_that_is_no_utf8_is_told_with_its_place():
    assert str(read_bytes(b"a: 1\nb: \xff", "w.yaml", {}).faults[0]).startswith("w.yaml:2:4: encoding")


def test_a_byte_order_mark_is_nothing():
    assert read_bytes(b"\xef\xbb\xbfa: 1", "w.yaml", {}).faults == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}", "1"),
        ("x${A}y${A}", "x1y1"),
        ("${B:-two}", "two"),
        ("${A:-two}", "1"),
        ("${EMPTY:-two}", "two"),
        ("${B:-}", ""),
        ("$${A}", "${A}"),
        ("$A $$ {A}", "$A $$ {A}"),
    ],
)
def test_variables_are_filled_in(text, value):
    assert substituted(text, {"A": "1", "EMPTY": ""}) == value


@given(st.text(st.sampled_from("${}A:-x")))
def test_an_escaped_text_comes_back(text):
    assert substituted(escaped(text), {}) == text


@pytest.mark.parametrize("text", ["a: ${B}", "a: '${}'", "a: '${1}'", "a: 'x ${'"])
def test_a_variable_that_is_not_set_is_told_with_its_place(text):
    assert faults(text)[0].startswith("w.yaml:1:4: environment")


@pytest.mark.parametrize("text", ["a: '${A:-${B}}'", "a: '${A:-{name}}'"])
def test_a_default_with_a_brace_is_told_whether_or_not_it_counts(text):
    for variables in ({"A": "1", "B": "2"}, {"B": "2"}):
        assert "the default of ${A} holds a brace" in faults(text, variables)[0]


def test_json_may_write_a_character_as_a_surrogate_pair():
    said = {"a": "hi 😀", "b": "\\ud83d\\ude00", "c": "\\😀"}
    root = read_text(json.dumps(said), "w.yaml", {}).root

    assert root is not None
    assert plain(root) == said


def test_a_tab_is_told_as_one():
    assert "there is a tab here" in faults("a:\n\tb: 1\n")[0]


def test_a_variable_may_be_a_number_where_it_is_not_quoted():
    root = read_text("a: ${N}\nb: '${N}'\n", "w.yaml", {"N": "8"}).root

    assert root is not None
    assert plain(root) == {"a": 8, "b": "8"}


odd = [
    "yes",
    "0o17",
    "1e5",
    "~",
    "null",
    ".inf",
    "=",
    "<<",
    "12:30",
    "\n",
    "a\n\n",
    " a\nb",
    "a \nb",
    "---",
    "%a",
]
texts = st.one_of(
    st.sampled_from([*odd, "--- a", "a\n---\nb", "a\n...\nb", "\ufeffa", "a\x00b", "\x9f", "😀", "\ufffe"]),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.sampled_from(" \n\t:#-'\"|>%&*!?{}[],ab\r\x85\u2028\ufeff$~=0oxe.1"), max_size=12),
)
numbers = st.one_of(st.integers(-(2**62), 2**62), st.floats(allow_nan=False))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def marked(value: Any) -> Any:
    """A value whose texts are escaped, as the writer escapes them."""
    if isinstance(value, list):
        return [marked(item) for item in value]
    if isinstance(value, dict):
        return {key: marked(item) for key, item in value.items()}
    return escaped(value) if isinstance(value, str) else value


@settings(max_examples=300)
@given(values)
def test_what_is_emitted_reads_back_the_same(value):
    read = read_text(emitted(marked(value)), "w.yaml", {})

    assert read.faults == ()
    assert read.root is not None
    assert plain(read.root) == value

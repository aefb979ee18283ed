"""Addresses: how they are joined, marked with passes, compared, and what an id may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.core.paths import RESERVED, id_fault, is_below, join, memory_key, pass_of

ids = st.text(
    st.characters(exclude_characters=RESERVED, exclude_categories=["Cs"]), min_size=1, max_size=5
).filter(lambda name: name.strip() and not name.startswith("_"))


@pytest.mark.parametrize(
    ("prefix", "segment", "path"),
    [
        ("", "a", "a"),
        ("a", "b", "a/b"),
        ("a[2]", "b", "a[2]/b"),
        ("[2]", "a", "a[2]"),
        ("[2]", "", "[2]"),
        ("", "", ""),
        ("a", "", "a"),
    ],
)
def test_segments_are_joined_and_a_bare_pass_mark_moves_behind(prefix: str, segment: str, path: str) -> None:
    assert join(prefix, segment) == path


def test_passes_count_from_one_and_are_left_out_of_memory_keys() -> None:
    assert pass_of("deep/a", 2) == "deep/a[2]"
    assert memory_key("deep[3]/a[2]/b~2") == "deep/a/b~2"


@pytest.mark.parametrize("path", ["a", "a/b", "a[1]", "a{0}", "a[1]/b"])
def test_what_is_below_a_node(path: str) -> None:
    assert is_below(path, "a")
    assert is_below(path, "")


@pytest.mark.parametrize("path", ["ab", "b/a", "a~2", "", "a-b"])
def test_what_only_looks_as_if_it_were_below(path: str) -> None:
    assert not is_below(path, "a")


@given(ids)
def test_ordinary_names_are_ids(name: str) -> None:
    assert id_fault(name) is None


@pytest.mark.parametrize("name", [*(f"a{sign}b" for sign in RESERVED), "", "  ", "_exit", None, 3])
def test_reserved_characters_blanks_and_what_is_no_text_are_refused(name: object) -> None:
    assert id_fault(name)


@given(ids, ids)
def test_a_joined_path_is_below_its_prefix(a: str, b: str) -> None:
    assert is_below(join(a, b), a)
    assert memory_key(join(pass_of(a, 3), b)) == join(a, b)

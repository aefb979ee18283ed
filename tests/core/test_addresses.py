"""Addresses: paths, unit ids and patterns over paths."""

import pytest

from plait.core.addresses import parse_address


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("deep/security[2]/actor", "deep/security[2]/actor"),
        ("deep/security/actor", "deep/security[2]/actor"),
        ("deep/*/actor", "deep/security[2]/actor"),
        ("deep/sec*/act*r", "deep/security/actor"),
        ("**", "deep/security/actor"),
        ("**/actor", "actor"),
        ("**/actor", "deep/security/actor"),
        ("deep/**", "deep"),
        ("deep/**/actor", "deep/actor"),
        ("deep/**/x/**/actor", "deep/a/x/b/c/actor"),
        ("files{1}", "files{1}"),
        ("files", "files{1}"),
        ("files{1}", "files[2]{1}"),
        ("files[2]", "files[2]{1}"),
        ("files{*}", "files{12}"),
        ("reader~2", "reader~2"),
    ],
)
def test_an_address_matches_a_path(address: str, path: str) -> None:
    assert parse_address(address).matches(path, "unit")


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("actor", "deep/actor"),
        ("*", "deep/actor"),
        ("deep/*", "deep/security/actor"),
        ("deep/*", "deep"),
        ("**/actor", "deep/actors"),
        ("files{1}", "files{10}"),
        ("actor[2]", "actor[3]"),
        ("actor[2]", "actor"),
        ("act?r", "actor"),
        ("act.r", "actor"),
        ("[a-z]*", "actor"),
        ("a*a", "a"),
        ("reader", "reader~2"),
    ],
)
def test_nothing_but_stars_is_special(address: str, path: str) -> None:
    assert not parse_address(address).matches(path, "unit")


def test_a_unit_id_matches_at_any_path_and_a_pattern_does_not_look_at_ids() -> None:
    assert parse_address("unit").matches("a/b[3]/c", "unit")
    assert not parse_address("un*").matches("a/b[3]/c", "unit")


def test_long_patterns_cost_little() -> None:
    address = parse_address("/".join(["**", "a*a*a*a*a*b"] * 200))
    assert not address.matches("/".join(["a" * 200] * 200), "unit")


@pytest.mark.parametrize(
    ("address", "place", "may"),
    [
        ("boss/x/y", "boss/**/y", True),
        ("boss/y[2]", "boss/**/y", True),
        ("boss/x/z", "boss/**/y", False),
        ("dag/anything/read", "dag/*/read", True),
        ("dag/anything/write", "dag/*/read", False),
        ("actor[*]", "actor", True),
        ("a*[2]", "actor", True),
        ("actor[2", "actor", False),
    ],
)
def test_what_may_match_a_place_that_is_not_fixed(address: str, place: str, may: bool) -> None:
    assert parse_address(address).may_match(place, "unit") is may

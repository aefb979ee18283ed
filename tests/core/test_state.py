"""SharedState: scopes, writes as data, typed keys, reducers, transactions, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from plait import PlaitError, SharedState, ValueRefused
from plait.core.state import StateWrite, conflicts, fold
from plait.core.stateschema import state_schema


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Mark:
    at: Point
    tags: set[str]


def add(old: list[int], new: list[int]) -> list[int]:
    return [*old, *new]


class Typed(BaseModel):
    count: int = Field(0, ge=0)
    point: Point | None = None
    items: Annotated[list[int], add] = []
    required: str


class Keys(TypedDict, total=False):
    total: Annotated[int, max]
    when: datetime


@dataclass
class Defaults:
    names: list[str] = field(default_factory=list)
    size: int = 3
    needed: str = field(kw_only=True)


def typed(**values: Any) -> SharedState:
    return SharedState({"workflow": values}, schema=state_schema(Typed, {}))


# Reading and writing


def test_a_write_is_seen_at_once_and_kept_as_data() -> None:
    state = SharedState({"workflow": {"a": 1}}, path="u")
    state.set("a", 2)
    assert state.get("a") == 2
    assert state.writes == [StateWrite("workflow", "a", 2, "set", "u")]


def test_what_it_was_made_from_is_never_changed() -> None:
    values = {"workflow": {"a": 1}}
    state = SharedState(values)
    state.set("b", 2)
    state.delete("a")
    assert (values, state.snapshot()) == ({"workflow": {"a": 1}}, {"b": 2})


def test_it_reads_like_a_mapping() -> None:
    state = SharedState({"workflow": {"a": 1, "b": None}})
    assert (list(state), len(state), "a" in state, "c" in state, state["a"]) == (
        ["a", "b"],
        2,
        True,
        False,
        1,
    )
    assert state["b"] is None
    with pytest.raises(KeyError):
        state["c"]


def test_a_value_that_was_read_and_changed_does_not_change_the_state() -> None:
    state = SharedState({})
    state.set("list", [1])
    state.get("list").append(2)
    assert state.get("list") == [1]


def test_a_value_that_was_written_and_changed_later_stays_as_written() -> None:
    state, given = SharedState({}), [1]
    state.set("list", given)
    given.append(2)
    assert state.get("list") == [1]


@pytest.mark.parametrize(
    "value",
    [Decimal("3.20"), datetime(2026, 11, 30, tzinfo=UTC), {1, 2}, b"\xff", Colour.RED, Point(x=1),
     Mark(Point(x=1), {"a"}), (1, "a"), {"k": [Point(x=2)]}, frozenset({1}), None],
)  # fmt: skip
def test_values_come_back_equal_and_of_the_same_type(value: Any) -> None:
    state = SharedState({})
    state.set("key", value)
    found = state.get("key")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [object(), lambda: 1, open, (x for x in ())])
def test_what_cannot_cross_a_checkpoint_is_refused_by_key_when_written(value: Any) -> None:
    with pytest.raises(ValueRefused, match="key"):
        SharedState({}).set("key", value)


def test_deleting_and_writing_again() -> None:
    state = SharedState({"workflow": {"a": 1}})
    state.delete("a")
    assert (state.has("a"), state.get("a", "gone")) == (False, "gone")
    state.set("a", 3)
    assert state.get("a") == 3


# Scopes


def test_scopes_are_apart_and_share_one_list_of_writes() -> None:
    state = SharedState({}, unit="u", path="u[1]")
    state.set("k", 1)
    state.scope("session").set("k", 2)
    state.scope("unit").set("k", 3)
    assert [(write.scope, write.value) for write in state.writes] == [
        ("workflow", 1),
        ("session", 2),
        ("unit:u", 3),
    ]
    assert (state.get("k"), state.scope("session").get("k"), state.scope("unit").get("k")) == (1, 2, 3)


def test_units_do_not_see_each_others_own_scope() -> None:
    values = {"unit:a": {"k": 1}}
    assert SharedState(values, unit="a").scope("unit").get("k") == 1
    assert SharedState(values, unit="b").scope("unit").get("k") is None


@pytest.mark.parametrize("change", [lambda s: s.set("a", 1), lambda s: s.delete("a")])
def test_outputs_and_read_only_views_cannot_be_written(change: Any) -> None:
    for view in (SharedState({}).scope("outputs"), SharedState({}, writable=False)):
        with pytest.raises(PlaitError, match="cannot be written"):
            change(view)


@pytest.mark.parametrize("key", ["", None, 3])
def test_a_key_is_a_text_that_is_not_empty(key: Any) -> None:
    with pytest.raises(PlaitError, match="non-empty text"):
        SharedState({}).set(key, 1)


# Transactions


def write_and_fail(state: SharedState) -> None:
    with state.transaction():
        state.set("a", 2)
        state.scope("session").set("b", 1)
        raise ZeroDivisionError


def test_a_transaction_that_raises_leaves_nothing_behind() -> None:
    state = SharedState({"workflow": {"a": 1}})
    with pytest.raises(ZeroDivisionError):
        write_and_fail(state)
    assert (state.snapshot(), state.writes) == ({"a": 1}, [])


def test_a_transaction_that_ends_well_keeps_all() -> None:
    state = SharedState({})
    with state.transaction():
        state.set("a", 1)
        state.set("b", 2)
    assert state.snapshot() == {"a": 1, "b": 2}


# Typed states


def test_every_write_of_a_typed_state_is_validated() -> None:
    with pytest.raises(PlaitError, match="count"):
        typed().set("count", -1)
    with pytest.raises(PlaitError, match="no key 'unknown'; it has count, items, point, required"):
        typed().set("unknown", 1)


def test_a_typed_key_takes_what_its_type_takes() -> None:
    state = typed()
    state.set("point", {"x": 1})
    assert state.get("point") == Point(x=1)


def test_defaults_are_those_of_the_type_and_made_anew() -> None:
    assert (typed().get("count"), typed().get("required", "none"), typed().get("items")) == (0, "none", [])
    state = SharedState({}, schema=state_schema(Defaults))
    state.get("names").append("x")
    assert (state.get("names"), state.get("size"), state.get("needed")) == ([], 3, None)


def test_a_reducer_merges_what_is_written() -> None:
    state = typed(items=[1])
    state.set("items", [2])
    state.set("items", [3])
    assert state.get("items") == [1, 2, 3]
    assert {write.operation for write in state.writes} == {"merge"}


def test_a_typed_dict_with_a_builtin_reducer() -> None:
    state = SharedState({}, schema=state_schema(Keys))
    for number in (1, 3, 2):
        state.set("total", number)
    assert state.get("total") == 3


@pytest.mark.parametrize("source", [3, "Typed", int])
def test_what_is_no_type_of_state_is_refused(source: Any) -> None:
    with pytest.raises(PlaitError, match="state="):
        state_schema(source)


# Folding and conflicts


def test_folding_applies_writes_in_order_and_changes_neither_argument() -> None:
    values = {"workflow": {"a": 1}}
    writes = [
        StateWrite("workflow", "a", 2),
        StateWrite("session", "b", 1),
        StateWrite("workflow", "a", None, "delete"),
    ]
    assert fold(values, writes) == {"workflow": {}, "session": {"b": 1}}
    assert values == {"workflow": {"a": 1}}


def test_conflicts_name_the_key_with_its_scope_and_every_writer() -> None:
    a = [StateWrite("workflow", "k", 1, path="a"), StateWrite("session", "s", 1, path="a")]
    b = [StateWrite("workflow", "k", 1, path="b"), StateWrite("session", "s", 1, path="b")]
    assert conflicts([a, b]) == {"k": ("a", "b"), "session/s": ("a", "b")}
    assert conflicts([a, a[:0]]) == {}

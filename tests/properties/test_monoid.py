"""Deltas are a monoid that acts on Snapshots; what does not depend on each other commutes or conflicts."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from plait import Delta, Snapshot, StateConflict, StepRecord, Usage
from plait.core.bus import Broadcast, BusMessage
from plait.core.delta import compose, merge
from plait.core.state import StateWrite
from plait.core.stateschema import state_schema
from plait.core.stored import Stored


def add(old: int, new: int) -> int:
    return old + new


class Shared(TypedDict, total=False):
    total: Annotated[int, add]
    a: Any
    b: Any


SCHEMA = state_schema(Shared)
paths = st.sampled_from(["a", "b", "a[2]", "deep/c", "deep/c~2"])
plain = st.one_of(st.integers(-9, 9), st.text(max_size=3), st.lists(st.integers(), max_size=2))
records = st.builds(
    StepRecord,
    path=paths,
    unit=st.just("u"),
    status=st.sampled_from(["done", "partial", "failed", "skipped", "rewound"]),
    stored=st.builds(lambda value: Stored(value, "output"), plain),
    usage=st.builds(Usage, st.integers(0, 9), st.integers(0, 9), model_calls=st.integers(0, 3)),
    attempt=st.integers(1, 2),
)
plain_writes = st.builds(
    StateWrite,
    scope=st.sampled_from(["workflow", "session", "unit:a"]),
    key=st.sampled_from(["a", "b"]),
    value=plain,
    operation=st.sampled_from(["set", "delete"]),
    path=paths,
)
reduced = st.builds(
    lambda value, path: StateWrite("workflow", "total", value, "merge", path), st.integers(-9, 9), paths
)
messages = st.lists(
    st.one_of(st.builds(HumanMessage, st.text(max_size=3)), st.builds(AIMessage, st.text(max_size=3))),
    max_size=2,
)


def bus_messages() -> st.SearchStrategy[BusMessage]:
    return st.builds(
        lambda number, content: Broadcast(id=f"m{number}", source="a", content=content),
        st.integers(0, 3),
        st.text(max_size=3),
    )


def deltas(writes: st.SearchStrategy[StateWrite] = plain_writes | reduced) -> st.SearchStrategy[Delta]:
    return st.builds(
        Delta,
        steps=st.lists(records, max_size=3, unique_by=lambda record: record.id).map(tuple),
        writes=st.lists(writes, max_size=3).map(tuple),
        bus=st.lists(bus_messages(), max_size=2, unique_by=lambda message: message.id).map(tuple),
        transcripts=st.dictionaries(st.sampled_from(["a", "b"]), messages.map(tuple), max_size=2),
        delivered=st.lists(st.sampled_from(["x", "y", "z"]), max_size=2, unique=True).map(tuple),
    )


snapshots = st.builds(
    Snapshot,
    task=st.text(max_size=3),
    values=st.fixed_dictionaries(
        {"workflow": st.fixed_dictionaries({}, optional={"total": st.integers(-9, 9), "a": plain})}
    ),
    schema=st.just(SCHEMA),
    steps=st.lists(records, max_size=3, unique_by=lambda record: record.id).map(tuple),
)


@given(deltas(), deltas(), deltas())
def test_composing_is_associative(a: Delta, b: Delta, c: Delta) -> None:
    assert compose(compose(a, b), c) == compose(a, compose(b, c))


@given(deltas())
def test_the_empty_delta_is_the_unit(a: Delta) -> None:
    assert compose(Delta(), a) == a == compose(a, Delta())


@given(snapshots, deltas(), deltas())
def test_applying_two_deltas_is_applying_their_composition(s: Snapshot, a: Delta, b: Delta) -> None:
    assert s.apply(a).apply(b) == s.apply(compose(a, b))


@given(snapshots)
def test_applying_nothing_changes_nothing(s: Snapshot) -> None:
    assert s.apply(Delta()) == s


@given(snapshots, deltas())
def test_applying_the_same_records_again_changes_nothing_more(s: Snapshot, a: Delta) -> None:
    once = s.apply(a)
    assert once.apply(Delta(a.steps, (), a.bus, a.transcripts, a.delivered)) == once


@given(deltas(), deltas())
def test_usage_is_read_from_records_and_never_counted_twice(a: Delta, b: Delta) -> None:
    both = compose(a, b)
    assert both.usage == Usage.total(record.usage for record in both.steps)
    assert compose(both, b).usage == both.usage


# Parallel work


def at(path: str, key: str, *values: int) -> Delta:
    """What one of several parallel steps did: its record, and its writes of one key."""
    operation: Any = "merge" if key == "total" else "set"
    writes = tuple(StateWrite("workflow", key, value, operation, path) for value in values)
    return Delta((StepRecord(path, path),), writes)


def seen(delta: Delta) -> Any:
    after = Snapshot(schema=SCHEMA).apply(delta)
    return {name: dict(scope) for name, scope in after.values.items() if scope}, {
        step.id for step in after.steps
    }


@given(st.permutations(["p", "q", "r"]))
def test_merging_steps_that_write_different_keys_commutes(order: list[str]) -> None:
    done = {"p": at("p", "a", 1), "q": at("q", "b", 2), "r": at("r", "total", 3)}
    assert seen(merge([done[path] for path in order], SCHEMA)) == seen(merge(list(done.values()), SCHEMA))


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_merging_through_a_reducer_commutes(values: list[int], random: Any) -> None:
    done = [at(f"p{number}", "total", value) for number, value in enumerate(values)]
    mixed = random.sample(done, len(done))
    assert seen(merge(mixed, SCHEMA)) == seen(merge(done, SCHEMA))
    assert seen(merge(done, SCHEMA))[0] == {"workflow": {"total": sum(values)}}


def test_two_steps_that_write_one_key_conflict_by_key_and_paths() -> None:
    with pytest.raises(StateConflict) as conflict:
        merge([at("p", "a", 1), at("q", "b", 2), at("r", "a", 1)], SCHEMA)
    assert (conflict.value.key, set(conflict.value.paths)) == ("a", {"p", "r"})
    assert conflict.value.reason == "state-conflict"


@given(st.sampled_from(["session", "unit:u", "global"]))
def test_writes_to_different_scopes_do_not_conflict(scope: str) -> None:
    other = Delta(writes=(StateWrite(scope, "a", 1, "set", "q"),))
    assert merge([at("p", "a", 1), other], SCHEMA).writes


def test_setting_a_key_beside_a_reduced_write_of_it_conflicts() -> None:
    replaced = Delta(writes=(StateWrite("workflow", "total", 5, "delete", "q"),))
    with pytest.raises(StateConflict):
        merge([at("p", "total", 1), replaced], SCHEMA)


def test_one_step_may_write_its_key_many_times() -> None:
    assert seen(merge([at("p", "a", 1, 2, 3), at("q", "b", 1)], SCHEMA))[0]["workflow"]["a"] == 3

"""A Snapshot is what may be read; a Delta is what was done; records stand for finished parts."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from plait import Delta, PlaitError, Snapshot, StepRecord, ToolCallRecord, Usage
from plait.core.state import StateWrite
from plait.core.stored import Stored


def record(path: str, output: object = None, **fields: object) -> StepRecord:
    stored = {} if output is None else {"stored": Stored.of(output, path)}
    return StepRecord(path, path.rpartition("/")[2], **stored, **fields)  # type: ignore[arg-type]


def test_outputs_are_by_path_and_only_of_what_ended_well() -> None:
    steps = (record("a", 1), record("b", 2, status="failed"), record("c", 3, status="partial"))
    snapshot = Snapshot(steps=steps)
    assert snapshot.outputs == {"a": 1, "c": 3}
    assert snapshot.state.scope("outputs").snapshot() == {"a": 1, "c": 3}


def test_the_state_of_a_snapshot_is_read_only() -> None:
    with pytest.raises(PlaitError, match="cannot be written"):
        Snapshot(values={"workflow": {"a": 1}}).state.set("a", 2)


def test_a_record_that_was_taken_up_again_no_longer_counts_but_its_usage_does() -> None:
    failed = record("a", status="failed", usage=Usage(model_calls=2)).rewound()
    snapshot = Snapshot(steps=(failed,))
    assert snapshot.record("a") is None
    assert snapshot.attempts("a") == (failed,)
    again = snapshot.apply(Delta((record("a", 1, attempt=2, usage=Usage(model_calls=1)),)))
    assert again.record("a") == again.steps[-1]
    assert again.usage.model_calls == 3


def test_transcripts_go_on_through_passes() -> None:
    said = (HumanMessage("hi"), AIMessage("yes"))
    snapshot = Snapshot().apply(Delta(transcripts={"deep/a": said}))
    assert snapshot.transcript("deep[2]/a[3]") == said
    assert snapshot.transcript("deep/b") == ()


def test_seen_from_elsewhere_only_the_place_and_the_predecessors_differ() -> None:
    snapshot = Snapshot(task="t", steps=(record("a", 1),))
    there = snapshot.at("b", ())
    assert (there.path, there.inputs, there.task, there.steps) == ("b", (), "t", snapshot.steps)
    assert snapshot.path == ""


def test_records_below_a_path() -> None:
    steps = tuple(record(path) for path in ("a", "a[1]/b", "ab", "a/c"))
    assert [step.path for step in Snapshot(steps=steps).below("a")] == ["a", "a[1]/b", "a/c"]


def test_a_record_survives_its_plain_form() -> None:
    call = ToolCallRecord("1", "look", {"x": [1, None]}, "full text", ok=False)
    whole = record(
        "a",
        {"k": 1},
        status="partial",
        reason="limit",
        message="m",
        text="t",
        tool_calls=(call,),
        usage=Usage(1, 2),
        started_at=1.5,
        attempt=2,
        metadata={"failed_at": "a/b"},
        ends=True,
    )
    assert StepRecord.from_plain(whole.to_plain()) == whole


def test_a_bare_record_has_a_small_plain_form() -> None:
    assert record("a").to_plain() == {"id": "a#1", "path": "a", "unit": "a", "status": "done"}


def test_a_delta_sums_its_records_and_shows_the_last_output() -> None:
    delta = Delta((record("a", 1, usage=Usage(1, 1)), record("b", 2, usage=Usage(2, 2))))
    assert (delta.usage.tokens, delta.output, Delta().output) == (6, 2, None)


def test_a_record_made_again_takes_the_place_of_the_first() -> None:
    snapshot = Snapshot(steps=(record("a", 1), record("b", 2)))
    assert [s.output for s in snapshot.apply(Delta((record("a", 3),))).steps] == [3, 2]


def test_applying_leaves_the_first_snapshot_as_it_was() -> None:
    snapshot = Snapshot(values={"workflow": {"a": 1}})
    after = snapshot.apply(Delta(writes=(StateWrite("workflow", "a", 2),), delivered=("m",)))
    assert (snapshot.values["workflow"]["a"], after.values["workflow"]["a"]) == (1, 2)
    assert (snapshot.delivered, after.delivered) == ((), ("m",))

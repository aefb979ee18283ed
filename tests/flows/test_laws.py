"""The laws of the algebra over generated flows of every kind, and the invariants that a run must keep."""

from __future__ import annotations

import asyncio
import os
import random
from typing import Annotated, Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from plait import DAGFlow, ParallelFlow, SequentialFlow, StateConflict, Workflow, WorkflowUnit, step
from plait.core.outcome import Reason
from plait.testing import ScriptedModel, call

from .generated import KINDS, NAMES, UNITS, Way, essence, flows, nested, result_of, run, workflow
from .support import run as run_flow

SOAK = bool(os.environ.get("PLAIT_SOAK"))
lawful = settings(
    max_examples=400 if SOAK else 20, derandomize=not SOAK, suppress_health_check=list(HealthCheck)
)
ways = st.builds(Way, seed=st.integers(0, 99))
of_each_kind = pytest.mark.parametrize("kind", KINDS)


def check(work: Any) -> None:
    async def timed() -> None:
        async with asyncio.timeout(20):
            await work

    asyncio.run(timed())


@lawful
@given(flows, ways)
def test_every_flow_of_flows_compiles_runs_and_ends(flow: Any, way: Way) -> None:
    async def law() -> None:
        result = await run(flow, way)
        assert result.outcome in ("done", "partial", "failed")
        assert result.outcome == "done" or result.reason in get_args(Reason)
        assert len({record.path for record in result.steps}) == len(result.steps)

    check(law())


@settings(lawful, max_examples=6)
@given(nested(2), nested(2), nested(2))
def test_sequences_associate(a: Any, b: Any, c: Any) -> None:
    assert (a >> b) >> c == a >> (b >> c)

    async def law() -> None:
        assert essence(await run((a >> b) >> c)) == essence(await run(a >> (b >> c)))

    check(law())


@settings(lawful, max_examples=6)
@given(nested(3))
def test_the_empty_sequence_is_the_identity(flow: Any) -> None:
    assert SequentialFlow() >> flow == SequentialFlow(flow) == flow >> SequentialFlow()

    async def law() -> None:
        assert essence(await run(flow >> SequentialFlow())) == essence(await run(SequentialFlow(flow)))

    check(law())


@lawful
@given(flows, ways, ways)
def test_results_do_not_depend_on_what_ends_first(flow: Any, one: Way, other: Way) -> None:
    async def law() -> None:
        assert essence(await run(flow, one)) == essence(await run(flow, other))

    check(law())


@lawful
@given(flows, ways)
def test_eager_and_superstep_come_to_the_same(flow: Any, way: Way) -> None:
    async def law() -> None:
        eager = await run(flow, way)
        assert essence(eager) == essence(await run(flow, way, scheduling="superstep"))

    check(law())


@of_each_kind
@settings(lawful, max_examples=100 if SOAK else 4)
@given(st.data())
def test_eager_and_superstep_come_to_the_same_for_every_kind(kind: str, data: Any) -> None:
    flow = data.draw(nested(2, kind))

    async def law() -> None:
        assert essence(await run(flow)) == essence(await run(flow, scheduling="superstep"))

    check(law())


async def paused_and_resumed(flow: Any, asks: frozenset[str], at_once: bool, scheduling: Any) -> Any:
    way = Way(asks)
    made = workflow(flow, way, scheduling=scheduling, checkpointer="memory")
    result = await result_of(made.run("go", thread_id="t", context=way))
    while result.outcome == "paused":
        assert len({q.question for q in result.interrupts}) == len(result.interrupts) > 0
        asked = result.interrupts if at_once else result.interrupts[:1]
        told = {question.id: "yes" for question in asked}
        result = await result_of(made.resume("t", told, context=way))
    return result


@lawful
@given(
    flows,
    st.frozensets(st.sampled_from(NAMES), min_size=1),
    st.booleans(),
    st.sampled_from(["eager", "superstep"]),
)
def test_pausing_anywhere_and_resuming_equals_running_through(
    flow: Any, asks: frozenset[str], at_once: bool, scheduling: Any
) -> None:
    async def law() -> None:
        result = await paused_and_resumed(flow, asks, at_once, scheduling)
        assert essence(result) == essence(await run(flow))

    check(law())


@of_each_kind
@settings(lawful, max_examples=60 if SOAK else 4)
@given(st.data())
def test_pausing_equals_running_through_for_every_kind(kind: str, data: Any) -> None:
    flow, at_once = data.draw(nested(2, kind)), data.draw(st.booleans())

    async def law() -> None:
        result = await paused_and_resumed(flow, frozenset(NAMES), at_once, "eager")
        assert essence(result) == essence(await run(flow))

    check(law())


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
async def test_a_step_reads_what_its_ancestors_wrote_and_nothing_else(scheduling: Any) -> None:
    async def keys(snapshot: Any) -> list[str]:
        return sorted(snapshot.state)

    async def late(snapshot: Any) -> list[str]:
        await asyncio.sleep(0.05)
        return sorted(snapshot.state)

    flow = DAGFlow(
        None,
        {
            "a": UNITS["a"],
            "b": UNITS["b"],
            "after": step(keys, id="after"),
            "beside": step(late, id="beside"),
        },
        step(keys, id="end"),
        dependencies={"after": ["a"]},
    )
    result = await run(flow, scheduling=scheduling)
    found = {record.path: record.output for record in result.steps}
    assert (found["after"], found["beside"], found["end"]) == (["a"], [], ["a", "b"])


class Merged(BaseModel):
    summary: Annotated[list[str], lambda old, new: old + new] = []


def writers(count: int = 2) -> list[WorkflowUnit[str]]:
    return [WorkflowUnit(name, output_adapter=lambda out: {"summary": [out]}) for name in "abcdef"[:count]]


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
async def test_parallel_writes_of_a_reduced_key_come_out_the_same_every_time(scheduling: Any) -> None:
    seen = []
    for seed in range(50):
        dice = random.Random(seed)
        model = ScriptedModel(
            lambda r: call("resolve", value=r.unit), delay_s=lambda r, dice=dice: dice.random() / 300
        )
        result = await run_flow(ParallelFlow(*writers(4)), model, state=Merged, scheduling=scheduling)
        seen.append(result.state["summary"])
    assert seen == [["a", "b", "c", "d"]] * 50


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
async def test_parallel_writes_without_a_reducer_name_key_and_both_paths(scheduling: Any) -> None:
    model = ScriptedModel(lambda r: call("resolve", value=r.unit))
    flow = SequentialFlow(ParallelFlow(*writers(), scheduling=scheduling, id="p"))
    result = await run_flow(flow, model)
    assert (result.outcome, result.reason) == ("failed", "state-conflict")
    told = result.message
    assert all(part in told for part in ("'summary'", "p/a", "p/b"))
    assert {record.path: record.output for record in result.steps} == {"p/a": "a", "p/b": "b"}
    assert not result.state
    assert issubclass(StateConflict, Exception)


async def test_ordered_steps_may_write_one_key() -> None:
    a, b = writers()
    model = ScriptedModel(lambda r: call("resolve", value=r.unit))
    result = await run_flow(DAGFlow(None, {"a": a, "b": b}, dependencies={"b": ["a"]}), model)
    assert (result.outcome, result.state) == ("done", {"summary": ["b"]})


@settings(lawful, max_examples=8)
@given(flows, ways)
def test_one_interface_one_bus_and_atomic_units(flow: Any, way: Way) -> None:
    """Every unit that ended well says so on the bus once, and its writes are there as a whole or not."""

    async def law() -> None:
        result = await run(flow, way)
        good = [r.path for r in result.steps if r.kind == "unit" and r.status == "done"]
        said = [m.path for m in result.bus if m.type == "unit-output"]
        assert sorted(good) == sorted(said)
        assert len({message.id for message in result.bus}) == len(result.bus)
        if result.reason != "state-conflict":
            assert set(result.state or {}) == {path for path in good if not path.endswith("boss")}

    check(law())


@settings(lawful, max_examples=6)
@given(st.sampled_from(NAMES), nested(2))
def test_a_unit_cannot_tell_which_flow_it_is_in(name: str, flow: Any) -> None:
    """What it is sent is the same first in a sequence, in a loop, beside others, or alone."""

    def asked(made: Any) -> Any:
        model = ScriptedModel(lambda r: call("resolve", value="x"))
        asyncio.run(result_of(Workflow(made, model=model).run("go", context=Way())))
        first = next(request for request in model.requests if request.unit == name)
        return [message.text for message in first.messages], first.tool_schemas

    unit = UNITS[name]
    shapes = [
        unit,
        unit >> flow,
        ParallelFlow(unit, step(lambda s: 1, id="x")),
        DAGFlow(None, {"u": unit}, None, {}),
    ]
    assert all(asked(shape) == asked(unit) for shape in shapes)

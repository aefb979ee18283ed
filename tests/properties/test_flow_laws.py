"""The laws of flows, over generated ones: closure, associativity, identity, single loops, pauses."""

from __future__ import annotations

import asyncio
import os
from typing import Any, get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from plait import LoopFlow, SequentialFlow, Workflow
from plait.core.outcome import Reason
from plait.testing import ScriptedModel

from .flows import NAMES, essence, flows, resume, run, steps, units

SOAK = bool(os.environ.get("PLAIT_SOAK"))
TIMEOUT_S = 20
lawful = settings(max_examples=1_500 if SOAK else 15, suppress_health_check=list(HealthCheck))


def check(work: Any) -> None:
    async def timed() -> None:
        async with asyncio.timeout(TIMEOUT_S):
            await work

    asyncio.run(timed())


def drawn(flow: Any) -> str:
    return str(Workflow(flow, model=ScriptedModel([])).graph.get_graph(xray=True).to_json())


@lawful
@given(flows)
def test_every_flow_of_flows_compiles_runs_and_ends(flow: Any) -> None:
    async def law() -> None:
        result = await run(flow)
        assert result.outcome in ("done", "partial", "failed")
        assert result.outcome == "done" or result.reason in get_args(Reason)
        assert len({record.path for record in result.steps}) == len(result.steps)

    check(law())


@lawful
@given(flows, flows, flows)
def test_sequences_associate_as_values_graphs_and_runs(a: Any, b: Any, c: Any) -> None:
    left, right = (a >> b) >> c, a >> (b >> c)
    assert left == right

    async def law() -> None:
        assert essence(await run(left)) == essence(await run(right))

    check(law())


@settings(lawful, max_examples=5)
@given(flows, flows, flows)
def test_sequences_that_are_equal_are_drawn_equal(a: Any, b: Any, c: Any) -> None:
    assert drawn((a >> b) >> c) == drawn(a >> (b >> c))


@lawful
@given(flows)
def test_the_empty_sequence_is_the_identity(flow: Any) -> None:
    empty = SequentialFlow()
    assert empty >> flow == SequentialFlow(flow) == flow >> empty

    async def law() -> None:
        assert essence(await run(empty >> flow)) == essence(await run(SequentialFlow(flow)))

    check(law())


@lawful
@given(flows)
def test_a_flow_is_its_sequence_of_one(flow: Any) -> None:
    async def law() -> None:
        alone, first = await run(flow), await run(SequentialFlow(flow))
        assert alone.outcome == first.outcome
        assert [record.unit for record in alone.steps] == [record.unit for record in first.steps]
        assert [record.status for record in alone.steps] == [record.status for record in first.steps]
        assert alone.state == first.state

    check(law())


@lawful
@given(st.one_of(units, steps))
def test_a_unit_equals_its_single_unit_loop_but_for_the_pass_mark(unit: Any) -> None:
    def unmarked(path: str) -> str:
        return path.replace("[1]", "")

    async def law() -> None:
        alone, looped = essence(await run(unit)), essence(await run(LoopFlow(unit)), unmarked)
        for end in (alone, looped):
            end["end"] = end["end"][:2]  # only a loop says whether its output was accepted
        assert looped == alone

    check(law())


@lawful
@given(flows, st.sets(st.sampled_from(NAMES), min_size=1))
def test_pausing_anywhere_and_resuming_equals_running_through(flow: Any, asking: set[str]) -> None:
    async def law() -> None:
        saver = InMemorySaver()
        result = await run(flow, asking, saver)
        while result.outcome == "paused":
            assert len(result.interrupts) == 1
            result = await resume(flow, asking, saver, result)
        assert essence(result) == essence(await run(flow))

    check(law())

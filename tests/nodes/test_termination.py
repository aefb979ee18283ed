"""Termination policies: what each one says, how they combine, and that a unit enforces them."""

import asyncio

import pytest
from pydantic import BaseModel

from plait import (
    Condition,
    Delegated,
    Limit,
    Limits,
    MaxRounds,
    Resolved,
    SharedState,
    StopReason,
    ToolRuntime,
    Usage,
    WorkflowUnit,
)
from plait.nodes.termination import AllOf, AnyOf, Progress, Stop, gates_resolve
from plait.testing import call, text

from ..support import answers, run, run_failing


class Ok(BaseModel):
    ok: bool


def progress(**given):
    defaults = {
        "rounds": 1,
        "resolved": False,
        "stop_reason": "tool_use",
        "text": "",
        "state": SharedState({}),
        "usage": Usage(),
        "elapsed_s": 0.0,
    }
    return Progress(**{**defaults, **given})


def state(**values):
    return SharedState({"workflow": values})


SPENT = Usage(60, 40, model_calls=2, tool_calls=3)
is_set = Condition(lambda shared: shared.get("done") is True)

STOPPING = [
    (Resolved(), {"resolved": True}, "done"),
    (Resolved(), {}, None),
    (StopReason("stop"), {"stop_reason": "stop"}, "partial"),
    (StopReason("length"), {"stop_reason": "length"}, "partial"),
    (StopReason("stop"), {"stop_reason": "tool_use"}, None),
    (MaxRounds(2), {"rounds": 1}, None),
    (MaxRounds(2), {"rounds": 2}, "failed"),
    (is_set, {"state": state(done=True)}, "partial"),
    (is_set, {"state": state(done=False)}, None),
    (is_set, {}, None),
    (Delegated(), {}, None),
    (Delegated(), {"delegated": ("expert",)}, "partial"),
    (Delegated("expert"), {"delegated": ("expert",)}, "partial"),
    (Delegated("expert"), {"delegated": ("other",)}, None),
    (Limit(Limits(tokens=100)), {"usage": SPENT}, "failed"),
    (Limit(Limits(tokens=101)), {"usage": SPENT}, None),
    (Limit(Limits(model_calls=2)), {"usage": SPENT}, "failed"),
    (Limit(Limits(tool_calls=3)), {"usage": SPENT}, "failed"),
    (Limit(Limits(tool_calls=4)), {"usage": SPENT}, None),
    (Limit(Limits(seconds=1.5)), {"elapsed_s": 2.0}, "failed"),
    (Limit(Limits(seconds=1.5)), {"elapsed_s": 1.0}, None),
    (Limit(Limits()), {"usage": SPENT}, None),
    (Resolved() | MaxRounds(1), {}, "failed"),
    (MaxRounds(1) | Resolved(), {"resolved": True}, "done"),
    (Resolved() & MaxRounds(2), {"resolved": True}, None),
    (Resolved() & MaxRounds(2), {"resolved": True, "rounds": 2}, "done"),
    (MaxRounds(2) & Resolved(), {"resolved": True, "rounds": 2}, "done"),
    (Resolved() & is_set, {"resolved": True}, None),
    (is_set & Resolved(), {"resolved": True, "state": state(done=True)}, "done"),
    ((Resolved() & is_set) | MaxRounds(3), {"resolved": True, "rounds": 3}, "failed"),
]


@pytest.mark.parametrize(("policy", "given", "status"), STOPPING)
def test_a_policy_says_how_the_unit_stops(policy, given, status):
    stop = policy(progress(**given))
    assert (stop and stop.status) == status


def test_a_limit_names_itself_and_its_value():
    assert Limit(Limits(tool_calls=3))(progress(usage=SPENT)) == Stop(
        "failed", "limit", "limit tool_calls=3 is used up"
    )
    assert "max_rounds=2" in MaxRounds(2)(progress(rounds=2)).message


def test_policies_are_values_that_flatten():
    a, b, c = Resolved(), MaxRounds(2), StopReason("stop")
    assert (a | b) | c == a | (b | c) == AnyOf((a, b, c))
    assert (a & b) & c == a & (b & c) == AllOf((a, b, c))
    assert repr(a | b) == "AnyOf(policies=(Resolved(), MaxRounds(rounds=2)))"


@pytest.mark.parametrize(
    ("policy", "gates"),
    [
        (None, False),
        (Resolved(), False),
        (Resolved() | MaxRounds(2), False),
        (MaxRounds(2), False),
        (Resolved() & is_set, True),
        ((Resolved() & is_set) | MaxRounds(2), True),
        ((Resolved() & is_set) | Resolved(), False),
    ],
)
def test_an_and_with_resolved_gates_resolve(policy, gates):
    assert gates_resolve(policy) is gates


def finish(runtime: ToolRuntime) -> str:
    """Set the key that ends it."""
    runtime.shared.set("done", True)
    return "set"


def wait() -> str:
    """Wait."""
    return "waited"


work = WorkflowUnit("work", output=Ok, tools=[finish, wait])
DONE = call("resolve", ok=True)


async def test_resolved_alone_is_what_a_unit_does_anyway():
    result, _ = await run(work.with_(termination=Resolved()), [call("wait"), DONE])
    assert result.output == Ok(ok=True)


async def test_max_rounds_ends_the_unit_before_its_own_cap():
    error, model = await run_failing(work.with_(termination=Resolved() | MaxRounds(2)), [call("wait")] * 2)
    assert error.reason == "limit"
    assert "max_rounds=2" in str(error)
    assert len(model.requests) == 2


async def test_a_resolve_in_the_last_round_still_counts():
    result, _ = await run(work.with_(termination=Resolved() | MaxRounds(2)), [call("wait"), DONE])
    assert result.outcome == "done"


async def test_a_stop_reason_ends_a_text_unit_with_its_text():
    unit = WorkflowUnit("work", output=str, termination=Resolved() | StopReason("stop"))
    result, model = await run(unit, [text("That is all.")])
    assert (result.outcome, result.output) == ("done", "That is all.")
    assert len(model.requests) == 1


async def test_a_stop_reason_ends_a_typed_unit_without_a_result():
    result, _ = await run(work.with_(termination=StopReason("stop")), [text("That is all.")])
    assert (result.outcome, result.reason) == ("partial", "terminated")
    assert result.steps[0].text == "That is all."


async def test_a_condition_on_the_state_ends_the_unit_in_the_round_that_makes_it_true():
    result, model = await run(work.with_(termination=Resolved() | is_set), [call("wait"), call("finish")])
    assert (result.outcome, result.reason) == ("partial", "terminated")
    assert result.state == {"done": True}
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("limits", "rounds"), [(Limits(model_calls=2), 2), (Limits(tool_calls=3), 3), (Limits(tokens=1), 1)]
)
async def test_a_limit_policy_ends_the_unit(limits, rounds):
    error, model = await run_failing(
        work.with_(termination=Resolved() | Limit(limits)), [call("wait")] * rounds
    )
    assert error.reason == "limit"
    assert len(model.requests) == rounds


async def test_a_limit_of_seconds_ends_the_unit_at_the_end_of_a_round():
    async def idle() -> str:
        """Idle."""
        await asyncio.sleep(0.05)
        return "idled"

    unit = work.with_(tools=[idle], termination=Limit(Limits(seconds=0.01)))
    error, _ = await run_failing(unit, [call("idle")])
    assert "seconds" in str(error)


async def test_and_holds_resolve_back_until_the_rest_holds():
    unit = work.with_(termination=Resolved() & is_set)
    result, model = await run(unit, [DONE, call("finish"), DONE])
    assert result.output == Ok(ok=True)
    (held,) = answers(model.requests[1])
    assert held.status == "error"
    assert "not accepted yet" in held.content


async def test_a_tool_beside_resolve_can_open_the_gate():
    unit = work.with_(termination=Resolved() & is_set)
    result, model = await run(unit, [[DONE, call("finish")]])
    assert result.output == Ok(ok=True)
    assert len(model.requests) == 1


async def test_resolved_and_max_rounds_means_not_before_that_round():
    unit = work.with_(termination=Resolved() & MaxRounds(2))
    result, model = await run(unit, [DONE, DONE])
    assert result.outcome == "done"
    assert len(model.requests) == 2


async def test_a_gated_unit_still_ends_by_the_other_branch():
    unit = work.with_(termination=(Resolved() & is_set) | MaxRounds(2))
    error, model = await run_failing(unit, [DONE, DONE])
    assert error.reason == "limit"
    assert len(model.requests) == 2


async def test_without_resolved_in_it_a_policy_only_adds_ends():
    result, _ = await run(work.with_(termination=MaxRounds(3)), [DONE])
    assert result.outcome == "done"

"""Reflexion, Broadcast, Composite and nested loops: what goes round, what is heard, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from plait import (
    BroadcastFlow,
    CompositeFlow,
    DefinitionError,
    Failure,
    Finish,
    LoopFlow,
    ParallelFlow,
    ReflexionFlow,
    RouterFlow,
    SequentialFlow,
    WorkflowUnit,
    field,
    step,
)
from plait.testing import ScriptedModel, call, text

from .support import Log, Score, broken, given, noted, outputs, run, seen, statuses

BOTH = pytest.mark.parametrize("scheduling", ["eager", "superstep"])
actor, judge = WorkflowUnit("actor"), WorkflowUnit("judge", output=Score)
GOOD = field("score") >= 0.9


def scores(*given: float) -> dict[str, Any]:
    tries = [call("resolve", value=f"try {n}") for n in range(1, len(given) + 1)]
    return {"actor": tries, "judge": [call("resolve", score=s, feedback=f"only {s}") for s in given]}


async def test_the_best_attempt_is_kept_when_none_is_good_enough() -> None:
    model = ScriptedModel(scores(0.4, 0.7, 0.6))
    result = await run(ReflexionFlow(actor, judge, GOOD), model)
    assert (result.outcome, result.reason, result.accepted) == ("partial", "exhausted", False)
    assert (result.output, result.path) == ("try 2", "actor[2]")
    assert [outputs(result)[f"judge[{n}]"].feedback for n in (1, 2, 3)] == [
        "only 0.4",
        "only 0.7",
        "only 0.6",
    ]
    model.check()


async def test_an_accepted_attempt_ends_it() -> None:
    result = await run(ReflexionFlow(actor, judge, GOOD), scores(0.4, 0.95))
    assert (result.outcome, result.accepted, result.output) == ("done", True, "try 2")


async def test_feedback_reaches_the_actor_and_the_bus_as_a_steer() -> None:
    model = ScriptedModel(scores(0.4, 0.95))
    result = await run(ReflexionFlow(actor, judge, GOOD), model)
    second = [request for request in model.requests if request.unit == "actor"][1]
    assert "only 0.4" in second.user
    assert second.replies == 1
    steers = [message for message in result.bus if message.type == "steering"]
    assert [(steer.target, "only 0.4" in steer.content) for steer in steers] == [("actor[2]", True)]


async def test_without_scores_the_last_attempt_is_kept() -> None:
    verdict = step(lambda s: "no", id="verdict")
    result = await run(ReflexionFlow(given("try"), verdict, lambda s: False, max_iterations=2))
    assert (result.outcome, result.accepted, result.path) == ("partial", False, "try[2]")


async def test_a_score_may_be_a_function_or_another_field() -> None:
    for score in (lambda output: -output.score, field("score").name):
        flow = ReflexionFlow(actor, judge, GOOD, score=score)
        best = (await run(flow, scores(0.4, 0.7, 0.6))).output
        assert best == ("try 2" if isinstance(score, str) else "try 1")


async def test_of_two_equal_attempts_the_later_is_kept_and_marks_that_are_no_numbers_do_not_count() -> None:
    marks = iter([{"score": "high"}, {"score": 2}, {"score": None}, {"score": 2}])
    verdict = step(lambda s: next(marks), id="verdict")
    result = await run(ReflexionFlow(given("try"), verdict, lambda s: False, max_iterations=4))
    assert result.path == "try[4]"


async def test_prose_is_asked_again_and_no_score_is_made_up() -> None:
    script = scores(0.95)
    script["judge"] = [text("**Score**: 8/10"), *script["judge"]]
    result = await run(ReflexionFlow(actor, judge, GOOD), script)
    assert outputs(result)["judge[1]"].score == 0.95
    silent = {"actor": script["actor"], "judge": [text("**Score**: 8/10")] * 3}
    result = await run(ReflexionFlow(actor, judge, GOOD), silent)
    assert (result.outcome, result.reason, result.path) == ("failed", "no-resolve", "judge[1]")


async def test_a_failed_actor_or_evaluator_ends_it() -> None:
    result = await run(ReflexionFlow(broken("actor"), given("j"), GOOD))
    assert (result.outcome, result.path) == ("failed", "actor[1]")
    result = await run(ReflexionFlow(given("a"), broken("j"), GOOD))
    assert (result.outcome, result.path) == ("failed", "j[1]")


async def test_actor_and_evaluator_may_be_flows() -> None:
    draft = ParallelFlow(given("x"), given("y"), id="draft")
    verdicts = iter([Score(score=0.1), Score(score=1)])
    check = SequentialFlow(seen("look"), step(lambda s: next(verdicts), id="mark"), id="check")
    result = await run(given("first") >> ReflexionFlow(draft, check, GOOD, id="refine"))
    assert (result.output, result.outcome) == ({"x": "x", "y": "y"}, "done")
    assert list(outputs(result))[1:5] == [
        f"refine[1]/{path}" for path in ("draft/x", "draft/y", "check/look", "check/mark")
    ]


async def test_finish_in_the_actor_goes_on_up_to_the_loop_around() -> None:
    flow = ReflexionFlow(step(lambda s: Finish("over"), id="a"), given("j"), GOOD)
    result = await run(LoopFlow(flow, 3, until=lambda s: False) >> seen("after"))
    assert result.output == {"loop": "over"}


@BOTH
async def test_peers_hear_what_the_others_said_before(scheduling: Any) -> None:
    peers = [seen("a"), seen("b"), seen("c")]
    result = await run(BroadcastFlow(*peers, rounds=2, scheduling=scheduling))
    assert outputs(result)["a[2]"] == {"b[1]": {}, "c[1]": {}}
    assert list(result.output) == ["a", "b", "c"]
    said = [m for m in result.bus if m.type == "broadcast"]
    assert [m.source for m in said] == [f"{peer}[{n}]" for n in (1, 2) for peer in "abc"]


async def test_peers_that_are_units_read_it_and_remember_earlier_rounds() -> None:
    def script(request: Any) -> Any:
        return call("resolve", value=f"{request.unit} in round {request.replies + 1}")

    model = ScriptedModel(script)
    await run(BroadcastFlow(WorkflowUnit("a"), WorkflowUnit("b"), rounds=3), model)
    last = next(request for request in model.requests if request.path == "a[3]")
    told = [message.text for message in last.messages if message.type == "human"]
    assert told == ["Go.", "Output of b[1]:\nb in round 1", "Output of b[2]:\nb in round 2"]


@BOTH
async def test_a_broadcast_ends_when_its_condition_holds_after_a_round(scheduling: Any) -> None:
    log = Log()
    flow = BroadcastFlow(
        noted(log, "a"),
        noted(log, "b"),
        rounds=5,
        until=lambda s: log.starts("a") == 2,
        scheduling=scheduling,
    )
    assert (await run(flow)).outcome == "done"
    assert (log.starts("a"), log.starts("b")) == (2, 2)


@BOTH
async def test_a_peer_that_fails_is_heard_as_a_failure_and_tries_again(scheduling: Any) -> None:
    result = await run(BroadcastFlow(broken("a"), seen("b"), rounds=2, scheduling=scheduling))
    assert isinstance(outputs(result)["b[2]"]["a[1]"], Failure)
    assert (result.outcome, list(statuses(result))) == ("partial", ["a[1]", "b[1]", "a[2]", "b[2]"])


async def test_a_peer_alone_hears_nothing() -> None:
    result = await run(BroadcastFlow(given("a"), rounds=2))
    assert result.output == {"a": "a"}


async def test_peers_may_be_flows() -> None:
    result = await run(BroadcastFlow(SequentialFlow(seen("x"), seen("y"), id="p"), given("q"), rounds=2))
    assert outputs(result)["p[2]/x"] == {"q[1]": "q"}


async def test_a_composite_is_a_sequence_that_stays_a_group() -> None:
    flow = CompositeFlow(given("a"), CompositeFlow(given("b"), id="in"), seen("c"), id="group")
    result = await run(given("first") >> flow >> seen("last"))
    assert list(outputs(result)) == ["first", "group/a", "group/in/b", "group/c", "last"]
    assert result.output == {"group": {"in": "b"}}
    assert len((given("x") >> flow).steps) == 2


async def test_a_router_in_a_composite_learns_its_answer_and_runs_once() -> None:
    log = Log()
    routed = RouterFlow(noted(log, "pick", gives="go"), {"go": noted(log, "go"), "stay": noted(log, "stay")})
    result = await run(CompositeFlow(routed, noted(log, "after")))
    assert [entry for entry in log if entry.endswith("starts")] == [
        "pick starts",
        "go starts",
        "after starts",
    ]
    assert result.output == "after"


async def test_an_inner_loop_that_ends_does_not_end_the_flow_around_it() -> None:
    log = Log()

    def work(snapshot: Any) -> Any:
        log.begin("inner")
        log.end("inner")
        return Finish("out") if snapshot.path.endswith("[2]") else "on"

    inner = LoopFlow(step(work, id="inner"), 5, until=lambda s: False)
    assert (await run(inner >> noted(log, "after"))).output == "after"
    assert (log.starts("inner"), log.starts("after")) == (2, 1)
    outer = LoopFlow(SequentialFlow(inner, noted(log, "outer")), 3, until=lambda s: False)
    assert (await run(outer)).reason == "exhausted"
    assert (log.starts("inner") - 2, log.starts("outer")) == (6, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ReflexionFlow(actor, judge, GOOD, max_iterations=0),
        lambda: BroadcastFlow(rounds=2),
        lambda: BroadcastFlow(actor, rounds=0),
        lambda: BroadcastFlow(actor, round=2),
        lambda: LoopFlow(actor, max_iterations=0),
    ],
)
def test_numbers_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(DefinitionError):
        make()

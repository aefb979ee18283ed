"""Field cases: `resolve` beside other calls, and call ids that are missing or used twice."""

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from plait import Workflow, WorkflowUnit
from plait.testing import call, text

from ..support import answers, run, run_failing, scripted


class Ok(BaseModel):
    ok: bool


class Desk:
    """Tools that note what they were called with."""

    def __init__(self):
        self.saved = []
        self.read_paths = []

    def save(self, x: int) -> str:
        """Save x."""
        self.saved.append(x)
        if x < 0:
            raise ValueError("must not be negative")
        return f"saved {x}"

    def read(self, path: str) -> str:
        """Read a file."""
        self.read_paths.append(path)
        return f"text of {path}"


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def unit(desk):
    return WorkflowUnit("work", output=Ok, tools=[desk.save, desk.read], memory="thread")


SAVE, RESOLVE = call("save", x=1), call("resolve", ok=True)


@pytest.mark.parametrize("batch", [[SAVE, RESOLVE], [RESOLVE, SAVE]])
async def test_f15_the_sibling_runs_once_and_the_resolve_counts(batch, unit, desk):
    result, model = await run(unit, [batch])
    assert result.output == Ok(ok=True)
    assert desk.saved == [1]
    assert len(model.requests) == 1
    assert [made.name for made in result.steps[0].tool_calls] == ["save"]


@pytest.mark.parametrize("batch", [[SAVE, RESOLVE], [RESOLVE, SAVE]])
async def test_f15_a_second_turn_sees_every_call_answered(batch, unit, desk):
    model = scripted([batch, RESOLVE])
    workflow = Workflow(unit, model=model)
    await workflow.run("Save it.", thread_id="t")
    await workflow.run("Again.", thread_id="t")
    assert {answer.name: answer.content for answer in answers(model.requests[1])} == {
        "save": "saved 1",
        "resolve": "accepted",
    }
    assert model.requests[1].user == "Again."
    assert desk.saved == [1]


@pytest.mark.parametrize("swapped", [False, True])
async def test_f15_a_failing_sibling_holds_the_resolve_back(swapped, unit, desk):
    batch = [call("save", x=-1), RESOLVE]
    result, model = await run(unit, [batch[::-1] if swapped else batch, RESOLVE])
    assert result.output == Ok(ok=True)
    told = {answer.name: answer for answer in answers(model.requests[1])}
    assert told["resolve"].status == told["save"].status == "error"
    assert "not accepted" in told["resolve"].content
    assert "save" in told["resolve"].content
    assert desk.saved == [-1]


async def test_f15_a_resolve_that_is_held_back_spends_no_attempt(unit):
    batch = [call("save", x=-1), RESOLVE]
    result, _ = await run(unit.with_(resolve_attempts=1), [batch, batch, batch, RESOLVE])
    assert result.outcome == "done"


async def test_f15_an_unknown_sibling_holds_the_resolve_back(unit):
    _, model = await run(unit, [[call("sve", x=1), RESOLVE], RESOLVE])
    assert [answer.status for answer in answers(model.requests[1])] == ["error", "error"]


async def test_f15_of_several_resolves_the_first_valid_one_counts(unit):
    batch = [call("resolve", ok="perhaps"), call("resolve", ok=True), call("resolve", ok=False)]
    model = scripted([batch, RESOLVE])
    workflow = Workflow(unit, model=model)
    assert (await workflow.run("Go.", thread_id="t")).output == Ok(ok=True)
    await workflow.run("Again.", thread_id="t")
    first, second, third = answers(model.requests[1])
    assert (first.status, second.status) == ("error", "success")
    assert "not used" in third.content


async def test_f15_an_invalid_resolve_beside_a_call_is_answered_beside_it(unit, desk):
    _, model = await run(unit, [[SAVE, call("resolve", ok="perhaps")], RESOLVE])
    assert desk.saved == [1]
    assert [answer.status for answer in answers(model.requests[1])] == ["success", "error"]


def two_reads(first, second):
    calls = [
        {"name": "read", "args": {"path": path}, "id": call_id}
        for path, call_id in (("a", first), ("b", second))
    ]
    return AIMessage("", tool_calls=calls)


@pytest.mark.parametrize("ids", [("c1", "c1"), ("", ""), (None, None), (" ", "c1"), ("c1", None)])
async def test_f19_both_calls_run_and_their_results_pair(ids, unit, desk):
    result, model = await run(unit, [two_reads(*ids), RESOLVE])
    assert sorted(desk.read_paths) == ["a", "b"]
    *_, asked, first, second = model.requests[1].messages
    assert [made["args"]["path"] for made in asked.tool_calls] == ["a", "b"]
    assert [made["id"] for made in asked.tool_calls] == [first.tool_call_id, second.tool_call_id]
    assert (first.content, second.content) == ("text of a", "text of b")
    assert [made.output for made in result.steps[0].tool_calls] == ["text of a", "text of b"]


async def test_f19_fine_ids_are_kept(unit):
    _, model = await run(unit, [two_reads("c1", "toolu_02"), RESOLVE])
    assert [answer.tool_call_id for answer in answers(model.requests[1])] == ["c1", "toolu_02"]


async def test_f19_an_id_may_come_again_in_a_later_round_and_turn(unit, desk):
    one = call("read", path="a").with_id("c1")
    other = call("read", path="b").with_id("c1")
    model = scripted(
        [one, other, RESOLVE.with_id("c1"), call("read", path="c").with_id("c1"), RESOLVE.with_id("c1")]
    )
    workflow = Workflow(unit, model=model)
    await workflow.run("Go.", thread_id="t")
    await workflow.run("Again.", thread_id="t")
    assert desk.read_paths == ["a", "b", "c"]
    told = [answer.content for answer in answers(model.requests[-1]) if answer.name == "read"]
    assert told == ["text of a", "text of b", "text of c"]


async def test_f19_ids_are_unique_over_reminders_too(unit):
    error, model = await run_failing(
        unit, [call("read", path="a").with_id(""), text("Hm."), text("Hm."), text("Hm.")]
    )
    assert error.reason == "no-resolve"
    assert len(model.requests) == 4

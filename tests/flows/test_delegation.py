"""DelegationFlow: who is asked what, what comes back, and when it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plait import (
    DefinitionError,
    DelegationFlow,
    Limits,
    LoopFlow,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel, call, reply, text

from .support import broken, given, outputs, run, seen, statuses

boss = WorkflowUnit("boss")
x, y = WorkflowUnit("x"), WorkflowUnit("y")


def by_unit(**replies: Any) -> dict[str, Any]:
    return replies


def ask(who: str, task: str = "work") -> Any:
    return call(f"delegate_to_{who}", task=task)


def done(value: str = "done") -> Any:
    return call("resolve", value=value)


def heard(model: ScriptedModel, unit: str = "boss") -> list[Any]:
    """The tool messages in the unit's last request."""
    last = [request for request in model.requests if request.unit == unit][-1]
    return [message for message in last.messages if message.type == "tool"]


async def test_a_specialist_is_run_on_the_task_and_answers_the_call() -> None:
    model = ScriptedModel(by_unit(boss=[ask("x", "count to 3"), done("all")], x=[done("1 2 3")]))
    result = await run(DelegationFlow(boss, [x]), model)
    assert (result.output, heard(model)[0].text) == ("all", "1 2 3")
    assert [(record.path, record.delegated_by) for record in result.steps] == [
        ("x[1]", "boss"),
        ("boss", None),
    ]
    assert next(r.user for r in model.requests if r.unit == "x") == "count to 3"
    model.check()


async def test_every_delegation_is_on_the_bus_and_was_run() -> None:
    model = ScriptedModel(by_unit(boss=[ask("x", "a"), ask("y", "b"), done()], x=[done()], y=[done()]))
    result = await run(DelegationFlow(boss, [x, y]), model)
    said = [(m.source, m.target, m.task) for m in result.bus if m.type == "delegation"]
    assert said == [("boss", "x", "a"), ("boss", "y", "b")]
    assert [record.unit for record in result.steps if record.delegated_by] == ["x", "y"]


async def test_delegations_of_one_reply_run_side_by_side_and_answer_in_order() -> None:
    import asyncio

    both, met = [], asyncio.Event()

    async def meet(snapshot: Any) -> str:
        both.append(snapshot.task)
        if len(both) == 2:
            met.set()
        await asyncio.wait_for(met.wait(), 10)
        return f"did {snapshot.task}"

    model = ScriptedModel([[ask("x", "one"), ask("x", "two")], done()])
    result = await run(DelegationFlow(boss, {"x": step(meet, id="x")}), model)
    assert [message.text for message in heard(model)] == ["did one", "did two"]
    assert outputs(result) == {"x[1]": "did one", "x[2]": "did two", "boss": "done"}


async def test_a_specialist_remembers_its_earlier_tasks() -> None:
    model = ScriptedModel(by_unit(boss=[ask("x", "one"), ask("x", "two"), done()], x=[done("1"), done("2")]))
    await run(DelegationFlow(boss, [x]), model)
    second = [request for request in model.requests if request.unit == "x"][1]
    assert [message.text for message in second.messages if message.type == "human"] == ["one", "two"]


async def test_a_failed_specialist_is_an_error_with_its_last_words() -> None:
    talker = WorkflowUnit("x", reminders=0)
    model = ScriptedModel(by_unit(boss=[ask("x"), done()], x=[text("I found 3 so far")]))
    result = await run(DelegationFlow(boss, [talker]), model)
    (answer,) = heard(model)
    assert (result.outcome, answer.status) == ("done", "error")
    assert "no-resolve" in answer.text
    assert "I found 3 so far" in answer.text


@pytest.mark.parametrize("empty", ["", None])
async def test_an_empty_answer_is_an_error(empty: Any) -> None:
    model = ScriptedModel([ask("x"), done()])
    await run(DelegationFlow(boss, {"x": step(lambda s: empty, id="x")}), model)
    (answer,) = heard(model)
    assert (answer.status, "x gave nothing" in answer.text) == ("error", True)


async def test_a_raising_and_a_skipped_specialist_are_errors_too() -> None:
    model = ScriptedModel([[ask("x"), ask("y")], done()])
    await run(DelegationFlow(boss, {"x": broken("x"), "y": given("y", when=lambda s: False)}), model)
    told = [message.text for message in heard(model)]
    assert told == ["x failed (error): ValueError: x broke", "y skipped"]


async def test_a_resolve_beside_a_delegation_waits_for_its_answer() -> None:
    model = ScriptedModel(by_unit(boss=[[ask("x"), done("too soon")], done("now")], x=[done("found")]))
    result = await run(DelegationFlow(boss, [x]), model)
    assert result.output == "now"
    assert [message.status for message in heard(model)] == ["success", "error"]


async def test_the_orchestrator_has_the_last_word() -> None:
    model = ScriptedModel(by_unit(boss=[ask("x"), done("mine")], x=[done("theirs")]))
    result = await run(DelegationFlow(boss, [x]) >> seen("after"), model)
    assert result.output == {"delegation": "mine"}


async def test_more_delegations_than_allowed_are_refused_and_then_end_it() -> None:
    model = ScriptedModel([ask("x"), ask("x"), ask("x"), done("enough")])
    result = await run(DelegationFlow(boss, {"x": given("x")}, max_delegations=2), model)
    assert (result.output, heard(model)[2].status) == ("enough", "error")
    assert "max_delegations=2" in heard(model)[2].text
    result = await run(DelegationFlow(boss, {"x": given("x")}, max_delegations=2), [ask("x")] * 4)
    assert (result.outcome, result.reason, result.path) == ("failed", "delegation-limit", "boss")
    assert len([record for record in result.steps if record.delegated_by]) == 2


async def test_of_a_large_reply_only_the_allowed_delegations_run() -> None:
    model = ScriptedModel([[ask("x")] * 5, done()])
    result = await run(DelegationFlow(boss, {"x": given("x")}, max_delegations=3), model)
    assert [message.status for message in heard(model)] == ["success"] * 3 + ["error"] * 2
    assert list(outputs(result)) == ["x[1]", "x[2]", "x[3]", "boss"]


async def test_each_pass_of_a_loop_may_delegate_as_often() -> None:
    flow = LoopFlow(DelegationFlow(boss, {"x": given("x")}, max_delegations=1), 3, until=lambda s: False)
    result = await run(flow, [ask("x"), done()] * 3)
    assert {record.status for record in result.steps} == {"done"}
    assert len([record for record in result.steps if record.delegated_by]) == 3


async def test_passes_of_a_loop_at_the_root_keep_their_specialists_apart() -> None:
    forgetful = WorkflowUnit("boss", memory="none")
    flow = LoopFlow(DelegationFlow(forgetful, {"x": given("x")}), 2, until=lambda s: False)
    result = await run(flow, lambda r: done() if r.tool_results else ask("x"))
    assert list(outputs(result)) == ["x[1][1]", "boss[1]", "x[2][1]", "boss[2]"]


def ping_pong(request: Any) -> Any:
    return ask("B" if request.unit == "A" else "A")


async def test_delegating_to_and_fro_ends_with_the_chain() -> None:
    flow = DelegationFlow(WorkflowUnit("A"), [WorkflowUnit("B")], max_depth=4)
    model = ScriptedModel(ping_pong)
    result = await run(flow, model)
    assert (result.outcome, result.reason) == ("failed", "delegation-limit")
    assert "A -> B -> A -> B -> A" in result.message
    assert len([m for m in result.bus if m.type == "delegation"]) == 4
    assert DelegationFlow(boss, [x]).max_delegations <= 20


async def test_specialists_cannot_delegate_unless_allowed() -> None:
    model = ScriptedModel(by_unit(boss=[ask("x"), done()], x=[done()], y=[]))
    await run(DelegationFlow(boss, [x, y]), model)
    assert {request.unit: request.tools for request in model.requests} == {
        "boss": ("delegate_to_x", "delegate_to_y", "resolve"),
        "x": ("resolve",),
    }


async def test_a_specialist_may_be_a_flow_and_so_another_delegation() -> None:
    inner = DelegationFlow(WorkflowUnit("lead", description="Leads."), [x], id="team")
    model = ScriptedModel(
        by_unit(boss=[ask("team"), done("end")], lead=[ask("x"), done("led")], x=[done("deep")])
    )
    result = await run(given("first") >> DelegationFlow(boss, [inner], id="top"), model)
    assert (result.outcome, result.output) == ("done", "end")
    assert list(outputs(result)) == ["first", "top/team[1]/x[1]", "top/team[1]/lead", "top/boss"]
    assert heard(model)[0].text == "led"


async def test_a_sequence_as_specialist_gives_its_last_output() -> None:
    model = ScriptedModel([ask("work", "5"), done()])
    work = SequentialFlow(
        step(lambda s: int(s.task), id="read"), step(lambda s: s.output + 1, id="add"), id="work"
    )
    result = await run(DelegationFlow(boss, [work]), model)
    assert (heard(model)[0].text, list(outputs(result))) == ("6", ["work[1]/read", "work[1]/add", "boss"])


def spending(**tokens: int) -> Callable[[Any], Any]:
    """Each unit delegates to the next and then resolves; its first reply spends its tokens."""
    chain = {"parent": "child", "child": "grandchild"}

    def script(request: Any) -> Any:
        given = tokens.get(str(request.unit), 0)  # 10 of them for the last reply
        if request.tool_results or request.unit not in chain:
            return reply(done(), usage=(10 if request.tool_results else given, 0))
        return reply(ask(chain[request.unit]), usage=(given - 10, 0))

    return script


def family(**limits: Limits) -> Any:
    units = {name: WorkflowUnit(name, limits=limits.get(name)) for name in ("parent", "child", "grandchild")}
    inner = DelegationFlow(units["child"], [units["grandchild"]], id="child")
    return DelegationFlow(units["parent"], {"child": inner})


async def test_usage_of_all_generations_adds_up_once() -> None:
    result = await run(family(), spending(parent=100, child=300, grandchild=500))
    assert (result.outcome, result.usage.tokens) == ("done", 900)
    own = {record.unit: record.usage.tokens for record in result.steps}
    assert own == {"parent": 100, "child": 300, "grandchild": 500}


@pytest.mark.parametrize("where", ["run", "parent"])
async def test_a_limit_above_stops_the_next_model_call_below(where: str) -> None:
    limits = Limits(tokens=600)
    flow = family(**({"parent": limits} if where == "parent" else {}))
    model = ScriptedModel(spending(parent=100, child=300, grandchild=500))
    result = await run(flow, model, **({"limits": limits} if where == "run" else {}))
    assert (result.outcome, result.reason, result.usage.tokens) == ("failed", "limit", 880)
    assert "tokens=600" in result.message
    assert [request.unit for request in model.requests] == ["parent", "child", "grandchild"]


async def test_a_limit_below_leaves_the_parent_its_own() -> None:
    model = ScriptedModel(spending(parent=100, child=300, grandchild=500))
    result = await run(family(child=Limits(tokens=600)), model)
    assert (result.outcome, statuses(result)["child[1]/child"]) == ("done", "failed")


async def test_specialists_of_one_reply_that_write_one_key_are_a_conflict() -> None:
    writers = [WorkflowUnit(name, output_adapter="summary") for name in ("x", "y")]
    replies = {"boss": [[ask("x"), ask("y")], done()], "x": [done("1")], "y": [done("2")]}
    result = await run(DelegationFlow(boss, writers), replies)
    assert (result.outcome, result.reason) == ("failed", "state-conflict")
    assert "'summary'" in result.message
    assert "x[1]" in result.message
    assert "y[1]" in result.message


async def test_specialists_one_after_the_other_may_write_one_key() -> None:
    writers = [WorkflowUnit(name, output_adapter="summary") for name in ("x", "y")]
    replies = {"boss": [ask("x"), ask("y"), done()], "x": [done("1")], "y": [done("2")]}
    result = await run(DelegationFlow(boss, writers), replies)
    assert (result.outcome, result.state) == ("done", {"summary": "2"})


async def test_names_that_no_provider_takes_still_reach_the_right_one() -> None:
    def script(request: Any) -> Any:
        if request.unit == "boss" and not request.tool_results:
            name = next(n for n in request.tools if n != "resolve" and "x" not in n)
            return call(name, task="t")
        return done(str(request.unit))

    model = ScriptedModel(script)
    flow = DelegationFlow(boss, [WorkflowUnit("规划"), x], max_delegations=1)
    result = await run(flow, model)
    assert list(outputs(result)) == ["规划[1]", "boss"]


def test_what_cannot_delegate_or_has_nobody_to_ask_is_refused() -> None:
    for bad in ((given("s"), [x]), (boss, [])):
        with pytest.raises(DefinitionError):
            DelegationFlow(*bad)
    for option in ("max_delegations", "max_depth"):
        with pytest.raises(DefinitionError, match=option):
            DelegationFlow(boss, [x], **{option: 0})


def test_a_tool_that_is_named_like_a_delegation_is_refused() -> None:
    def delegate_to_x(task: str) -> str:
        """Mine."""
        return task

    with pytest.raises(DefinitionError, match="framework uses"):
        Workflow(DelegationFlow(boss.with_(tools=[delegate_to_x]), [x]), model=ScriptedModel([]))

"""Calls that a person approves, edits, rejects or answers, on every store."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, RetryPolicy

from plait import (
    ParallelFlow,
    PlaitError,
    ThreadPaused,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    approve,
    edit,
    langgraph_adapter,
    reject,
    respond,
    tool,
)
from plait.testing import ScriptedModel, call

RAN: list[tuple[str, Any]] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    RAN.clear()


@tool(approval="money leaves the house")
def pay(amount: int) -> str:
    """Pay an amount."""
    RAN.append(("pay", amount))
    return f"paid {amount}"


@tool(approval=True)
async def mail(to: str) -> str:
    """Send a mail."""
    RAN.append(("mail", to))
    return f"sent to {to}"


def calc(text: str) -> str:
    """Calculate."""
    RAN.append(("calc", text))
    return "4"


def clerk(*calls: Any, name: str = "clerk", more: Any = (), tools: Any = (pay, mail, calc)) -> Any:
    """A workflow of one unit that makes the calls in one reply, then ends."""
    unit = WorkflowUnit(name, output=str, tools=list(tools))
    model = ScriptedModel({name: [list(calls), *more, call("resolve", value="ended")]})
    return unit, model


def workflow(
    saver: Any, *calls: Any, granularity: Any = "round", **options: Any
) -> tuple[Workflow, ScriptedModel]:
    unit, model = clerk(*calls, **options)
    return Workflow(unit, model=model, checkpointer=saver, granularity=granularity), model


BOTH = pytest.mark.parametrize("granularity", ["round", "unit"])


@BOTH
async def test_one_is_rejected_one_approved_and_one_needs_no_approval(
    saver_url: Any, granularity: Any
) -> None:
    """F21."""
    calls = [call("pay", amount=10), call("mail", to="bo"), call("calc", text="2+2")]
    made, model = workflow(saver_url, *calls, granularity=granularity)
    paused = await made.run("go", thread_id="t")
    assert paused.outcome == "paused"
    assert RAN == [("calc", "2+2")]
    by_action = {q.question["action_request"]["action"]: q.id for q in paused.interrupts}
    done = await made.resume(
        "t", {by_action["pay"]: reject("too much", by="mei"), by_action["mail"]: approve(by="mei")}
    )
    assert done.output == "ended"
    assert sorted(name for name, _ in RAN) == ["calc", "mail"]
    assert len(model.requests) == 2
    answers = {m.tool_call_id: m for m in model.requests[-1].messages if m.type == "tool"}
    asked = [m for m in model.requests[-1].messages if m.type == "ai"][-1].tool_calls
    assert [call["id"] for call in asked] == list(answers)
    refused = next(answers[call["id"]] for call in asked if call["name"] == "pay")
    assert refused.status == "error"
    assert "too much" in refused.content
    records = {record.name: record for record in done.steps[0].tool_calls}
    assert records["pay"].decision == {"type": "reject", "why": "too much", "by": "mei"}
    assert records["mail"].decision == {"type": "accept", "by": "mei"}
    assert records["calc"].decision is None
    assert [m.type for m in done.bus if m.type.startswith("hitl")] == ["hitl-request", "hitl-response"] * 2
    assert len({m.id for m in done.bus}) == len(done.bus)


@BOTH
async def test_two_calls_of_one_gated_tool_are_told_apart(saver_url: Any, granularity: Any) -> None:
    """F22."""
    calls = [call("pay", amount=10), call("pay", amount=99)]
    made, _ = workflow(saver_url, *calls, granularity=granularity)
    paused = await made.run("go", thread_id="t")
    ten, ninety = paused.interrupts
    assert ten.id != ninety.id
    assert [q.question["action_request"]["args"] for q in paused.interrupts] == [
        {"amount": 10},
        {"amount": 99},
    ]
    assert {(q.path, q.kind) for q in paused.interrupts} == {("clerk", "approval")}
    done = await made.resume("t", {ninety.id: reject(), ten.id: approve()})
    assert done.outcome == "done"
    assert RAN == [("pay", 10)]


def again(function: Any) -> Any:
    """Calls a tool's body up to three times, as a retry does, and makes an error of whatever it raises."""

    async def pay_with_care(amount: int, runtime: ToolRuntime) -> str:
        """Pay an amount."""
        for _ in range(3):
            try:
                return await function(amount, runtime)
            except Exception as error:
                told = f"tool failed: {error}"
        return told

    return pay_with_care


async def asks(amount: int, runtime: ToolRuntime) -> str:
    RAN.append(("asked", amount))
    answer = runtime.ask(f"pay {amount}?")
    RAN.append(("pay", amount))
    return f"paid: {answer}"


@pytest.mark.parametrize("gated", [again(asks), tool(again(asks), approval=True)], ids=["asks", "gated"])
@BOTH
async def test_a_pause_is_never_swallowed(saver_url: Any, gated: Any, granularity: Any) -> None:
    """F60."""
    unit = WorkflowUnit("clerk", output=str, tools=[gated], retry=RetryPolicy(max_attempts=3))
    model = ScriptedModel([call("pay_with_care", amount=10), call("resolve", value="ended")])
    made = Workflow(unit, model=model, checkpointer=saver_url, granularity=granularity)
    events = [event async for event in made.stream("go", thread_id="t")]
    paused = events[-1].result
    assert paused.outcome == "paused"
    assert len(paused.interrupts) == 1
    assert ("pay", 10) not in RAN
    assert not any(event.is_error for event in events)
    assert [event.outcome for event in events if event.type == "agent_end"] == ["paused", "paused"]
    answered = paused
    while answered.outcome == "paused":
        is_approval = answered.interrupts[0].kind == "approval"
        answered = await made.resume("t", approve() if is_approval else "yes")
    assert RAN.count(("pay", 10)) == 1
    assert [record.ok for record in answered.steps[0].tool_calls] == [True]
    assert len(model.requests) == 2


@pytest.mark.parametrize("decision", [approve(), reject("too much"), edit({"amount": 4}), respond("later")])
async def test_a_gated_tool_asks_when_another_tool_calls_it(decision: dict[str, Any]) -> None:
    async def settle(amount: int) -> str:
        """Settle a bill."""
        for _ in range(3):
            try:
                return str(await pay.ainvoke({"amount": amount}))
            except Exception as error:
                told = f"tool failed: {error}"
        return told

    made, model = workflow("memory", call("settle", amount=10), tools=[settle])
    paused = await made.run("go", thread_id="t")
    assert RAN == []
    assert [(q.path, q.kind) for q in paused.interrupts] == [("clerk", "approval")]
    result = await made.resume("t", decision)
    while result.outcome == "paused":  # the tool tries again what was rejected, and that is asked too
        result = await made.resume("t", decision)
    paid = {"accept": [("pay", 10)], "edit": [("pay", 4)]}.get(decision["type"], [])
    assert paid == RAN
    told = {"accept": "paid 10", "edit": "paid 4", "ignore": "tool failed", "response": "later"}
    assert told[decision["type"]] in model.requests[-1].messages[-1].content


async def test_a_gated_tool_asks_in_a_graph_by_somebody_else(saver_url: Any) -> None:
    builder: Any = StateGraph(MessagesState).add_node("tools", ToolNode([pay]))
    builder.add_edge(START, "tools").add_edge("tools", END)
    asked = AIMessage("", tool_calls=[{"name": "pay", "args": {"amount": 2}, "id": "1", "type": "tool_call"}])
    adapter = langgraph_adapter(builder.compile(), enter=lambda snapshot: {"messages": [asked]})
    made = Workflow(WorkflowUnit("foreign", output=str, adapter=adapter), checkpointer=saver_url)
    paused = await made.run("go", thread_id="t")
    assert [(q.path, q.kind) for q in paused.interrupts] == [("foreign", "approval")]
    with pytest.raises(PlaitError, match="no decision"):
        await made.resume("t", "yes")
    assert (await made.resume("t", approve())).output == "paid 2"


async def test_a_rejected_body_never_begins(saver_url: Any) -> None:
    made, _ = workflow(saver_url, call("pay", amount=10))
    paused = await made.run("go", thread_id="t")
    assert paused.interrupts[0].question == {
        "action_request": {"action": "pay", "args": {"amount": 10}},
        "config": {"allow_ignore": True, "allow_respond": True, "allow_edit": True, "allow_accept": True},
        "description": "money leaves the house",
    }
    done = await made.resume("t", {"type": "ignore", "args": None})
    assert done.outcome == "done"
    assert RAN == []


async def test_an_edit_runs_with_other_arguments_and_the_model_is_told(saver_url: Any) -> None:
    made, model = workflow(saver_url, call("pay", amount=99))
    await made.run("go", thread_id="t")
    done = await made.resume("t", edit({"amount": 5}, by="bo"))
    assert RAN == [("pay", 5)]
    record = done.steps[0].tool_calls[0]
    assert record.args == {"amount": 99}
    assert record.decision == {"type": "edit", "args": {"amount": 5}, "by": "bo"}
    assert model.requests[-1].messages[-1].content.endswith("paid 5")
    assert '{"amount": 5}' in model.requests[-1].messages[-1].content


async def test_the_form_of_agent_inbox_is_understood_as_it_is_sent(saver_url: Any) -> None:
    made, _ = workflow(saver_url, call("pay", amount=99))
    await made.run("go", thread_id="t")
    done = await made.resume("t", [{"type": "edit", "args": {"action": "pay", "args": {"amount": "7"}}}])
    assert (done.outcome, RAN) == ("done", [("pay", 7)])


async def test_a_response_stands_for_the_result(saver_url: Any) -> None:
    made, model = workflow(saver_url, call("pay", amount=99))
    await made.run("go", thread_id="t")
    done = await made.resume("t", respond("already paid"))
    assert RAN == []
    assert model.requests[-1].messages[-1].content == "already paid"
    assert done.steps[0].tool_calls[0].ok


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("yes", "no decision on pay"),
        ({"type": "approve"}, "no decision on pay"),
        (edit({"amount": "a lot"}), "amount: Input should be a valid integer"),
        (edit({}), "amount: Field required"),
        (edit({"amount": 1, "to": "me"}), "to: there is no such argument"),
        ({"type": "edit", "args": {"action": "mail", "args": {"to": "me"}}}, "another call"),
        ({"type": "response", "args": None}, "needs its text"),
    ],
)
async def test_a_bad_answer_is_refused_before_anything_runs(answer: Any, told: str) -> None:
    made, model = workflow("memory", call("pay", amount=10), call("calc", text="2+2"))
    paused = await made.run("go", thread_id="t")
    RAN.clear()
    with pytest.raises(PlaitError, match=told):
        await made.resume("t", {paused.interrupts[0].id: answer})
    with pytest.raises(PlaitError, match="no id of an open question"):
        await made.resume("t", {"nonsense": approve()})
    assert RAN == []
    assert len(model.requests) == 1
    with pytest.raises(ThreadPaused):
        await made.run("more", thread_id="t")
    assert (await made.resume("t", approve())).outcome == "done"


def much(args: Any) -> bool | str:
    return args["amount"] > 50 and "it is much"


def broken(args: Any) -> bool:
    return bool(args["amont"])


@pytest.mark.parametrize(
    ("rule", "told"), [(much, ["it is much"]), (broken, ["KeyError", "KeyError"]), (False, [])]
)
async def test_a_rule_over_the_arguments_says_what_needs_approval(rule: Any, told: list[str]) -> None:
    def spend(amount: int) -> str:
        """Spend an amount."""
        RAN.append(("spend", amount))
        return "spent"

    made, _ = workflow(
        "memory", call("spend", amount=10), call("spend", amount=99), tools=[tool(spend, approval=rule)]
    )
    result = await made.run("go", thread_id="t")
    assert len(result.interrupts) == len(told)
    for question, why in zip(result.interrupts, told, strict=True):
        assert why in question.question["description"]


async def test_a_caller_without_plait_is_asked_again_for_an_answer_that_does_not_fit() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    made, _ = workflow("memory", call("pay", amount=10))
    graph, config = made.compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "t"}}
    await graph.ainvoke({"task": "go"}, config)
    values = await graph.ainvoke(Command(resume="hm"), config)
    assert "refused" in values["__interrupt__"][0].value["description"]
    assert RAN == []
    values = await graph.ainvoke(Command(resume=[{"type": "accept", "args": None}]), config)
    assert (values["output"], RAN) == ("ended", [("pay", 10)])


NEAR = {"near": [call("calc", text="1"), call("resolve", value="near")]}


def nested(script: dict[str, Any], names: str, depth: int) -> Any:
    """Clerks side by side, each of whom pays and mails in one reply, some levels deep."""
    clerks = []
    for name in names:
        both = [call("pay", amount=ord(name)), call("mail", to=name)]
        script[name] = [both, call("resolve", value=name)]
        clerks.append(WorkflowUnit(name, output=str, tools=[pay, mail]))
    flow: Any = ParallelFlow(*clerks)
    for _ in range(depth):
        flow = ParallelFlow(flow)
    return flow


@pytest.mark.parametrize("order", ["together", "one by one", "backwards"])
async def test_questions_three_levels_deep_are_answered_in_any_order(saver_url: Any, order: str) -> None:
    script = dict(NEAR)
    near = WorkflowUnit("near", output=str, tools=[calc])
    made = Workflow(
        ParallelFlow(nested(script, "ab", 2), near), model=ScriptedModel(script), checkpointer=saver_url
    )
    result = await made.run("go", thread_id="t")
    assert [(q.path.split("/")[-1], q.question["action_request"]["action"]) for q in result.interrupts] == [
        ("a", "pay"),
        ("a", "mail"),
        ("b", "pay"),
        ("b", "mail"),
    ]
    assert RAN == [("calc", "1")]
    while result.interrupts:
        taken = {"together": slice(None), "one by one": slice(1), "backwards": slice(-1, None)}[order]
        result = await made.resume("t", {q.id: approve() for q in result.interrupts[taken]})
    assert result.outcome == "done"
    assert sorted(map(str, RAN)) == sorted(
        map(str, [("calc", "1"), ("pay", 97), ("mail", "a"), ("pay", 98), ("mail", "b")])
    )


async def test_requests_are_heard_while_they_wait(saver_url: Any) -> None:
    made, _ = workflow(saver_url, call("pay", amount=10))
    heard: list[Any] = []
    made.bus.subscribe(lambda message: message.type.startswith("hitl"), heard.append)
    await made.run("go", thread_id="t")
    assert [message.type for message in heard] == ["hitl-request"]
    done = await made.resume("t", reject("no", by="mei"))
    kept = [message for message in done.bus if message.type.startswith("hitl")]
    assert kept[0].id == heard[0].id
    assert kept[1].answer["by"] == "mei"
    assert {message.path for message in kept} == {"clerk"}

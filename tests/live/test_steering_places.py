"""Messages to units wherever they stand: side by side, per item, delegated to, in a later pass."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from plait import (
    BroadcastFlow,
    DAGFlow,
    DelegationFlow,
    LoopFlow,
    ParallelFlow,
    PlaitError,
    RouterFlow,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import Request, ScriptedModel, call

from ..flows.support import planned
from ..support import check_requests

RESULT = call("resolve", value="ok")


async def told(flow: Any, *said: tuple[str, str], script: Any = lambda _: RESULT, **options: Any) -> Any:
    """What each unit was told, by path, when the messages waited before the run; and the result."""
    model = ScriptedModel(script)
    workflow = Workflow(flow, model=model, **options)
    for address, text in said:
        await workflow.steer("t", address, text)
    result = await workflow.run("Go.", thread_id="t")
    check_requests(model.requests)
    texts = {text for _, text in said}
    heard: dict[str, list[str]] = {}
    for request in model.requests:
        heard[str(request.path)] = [str(m.text) for m in request.messages if m.text in texts]
    return heard, result


def unit(name: str, **options: Any) -> WorkflowUnit[str]:
    return WorkflowUnit(name, steering="all", **options)


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
async def test_parallel_units_each_get_what_matches_them(scheduling: Literal["eager", "superstep"]) -> None:
    reader = unit("reader")
    flow = ParallelFlow({"left": reader, "right": reader, "other": unit("other")})

    heard, result = await told(
        flow, ("reader", "both"), ("right", "one"), ("*", "all"), checkpointer="memory", scheduling=scheduling
    )

    assert heard == {"left": ["both", "all"], "right": ["both", "one", "all"], "other": ["all"]}
    assert len([message for message in result.bus if message.type == "steering"]) == 6
    assert result.undelivered == ()


async def test_one_map_item_is_addressed_by_its_index() -> None:
    flow = ParallelFlow.map(unit("read"), over=lambda _: ["a", "b", "c"])

    heard, _ = await told(flow, ("read{1}", "one"), ("read", "all"), ("read{*}", "each"))

    both = ["all", "each"]
    assert heard == {"read{0}": both, "read{1}": ["one", *both], "read{2}": both}


def delegate(request: Request) -> Any:
    """The boss and the analyst delegate once; the others answer at once."""
    below = {"boss": "analyst", "analyst": "checker"}
    tool = f"delegate_to_{below.get(str(request.unit), '')}"
    if tool in request.tools and not any(message.type == "tool" for message in request.messages):
        return call(tool, task="look")
    return RESULT


async def test_a_specialist_is_told_inside_the_delegation() -> None:
    flow = DelegationFlow(unit("boss"), [unit("analyst"), unit("checker")])

    heard, result = await told(flow, ("analyst", "careful"), ("checker", "nobody asks"), script=delegate)

    assert heard == {"boss": [], "analyst[1]": ["careful"]}
    assert [item.text for item in result.undelivered] == ["nobody asks"]


async def test_a_deep_delegation_is_reached_by_path_and_pattern() -> None:
    flow = DelegationFlow(unit("boss"), [unit("analyst"), unit("checker")], max_depth=2)
    said = [("analyst/checker", "deep"), ("**/checker", "any")]

    heard, _ = await told(flow, *said, script=delegate)

    assert heard == {"boss": [], "analyst[1]": [], "analyst[1]/checker[1]": ["deep", "any"]}


async def test_a_specialist_is_told_once_though_it_is_asked_twice() -> None:
    def twice(request: Request) -> Any:
        asked = sum(message.type == "tool" for message in request.messages)
        return call("delegate_to_analyst", task="look") if request.unit == "boss" and asked < 2 else RESULT

    flow = DelegationFlow(unit("boss"), [unit("analyst")])

    heard, result = await told(flow, ("analyst", "careful"), script=twice)

    assert [message.target for message in result.bus if message.type == "steering"] == ["analyst[1]"]
    assert heard["analyst[1]"] == ["careful"]


@pytest.mark.parametrize(
    ("memory", "later"), [("run", ["careful", "now"]), ("none", ["now"])], ids=["remembered", "forgotten"]
)
async def test_a_later_pass_can_be_meant_alone(memory: Any, later: list[str]) -> None:
    flow = LoopFlow(unit("actor", memory=memory), 2, until=lambda _: False)

    heard, _ = await told(flow, ("actor", "careful"), ("actor[2]", "now"))

    assert heard == {"actor[1]": ["careful"], "actor[2]": later}


async def test_a_message_that_comes_between_passes_reaches_the_next_one() -> None:
    workflow: list[Any] = []

    async def send(snapshot: Any) -> str:
        if snapshot.path.endswith("[1]"):
            await workflow[0].steer("t", "actor", "now")
        return "sent"

    model = ScriptedModel(lambda _: RESULT)
    flow = LoopFlow(unit("actor") >> step(send, id="send"), 3, until=lambda _: False)
    workflow.append(Workflow(flow, model=model))

    await workflow[0].run("Go.", thread_id="t")

    assert [[m.text for m in request.messages].count("now") for request in model.requests] == [0, 1, 1]


async def test_peers_router_and_handler_are_told() -> None:
    peers = BroadcastFlow(unit("a"), unit("b"), rounds=2)
    flow = RouterFlow(unit("route"), {"talk": peers, "rest": unit("rest")})
    said = [("route", "hm"), ("talk/b", "louder"), ("rest", "never")]

    def reply(request: Request) -> Any:
        return call("resolve", value="talk") if request.unit == "route" else RESULT

    heard, result = await told(flow, *said, script=reply)

    assert {path: texts for path, texts in heard.items() if texts} == {
        "route": ["hm"],
        "talk/b[1]": ["louder"],
        "talk/b[2]": ["louder"],
    }
    assert [item.address for item in result.undelivered] == ["rest"]


async def test_a_planned_step_is_addressed_by_the_name_the_plan_gives_it() -> None:
    flow = DAGFlow(unit("plan"), {"search": unit("search")}, unit("write"))

    def reply(request: Request) -> Any:
        plan = planned(("first", "search"), ("second", "search", "first"))
        return call("resolve", **plan) if request.unit == "plan" else RESULT

    heard, _ = await told(flow, ("second", "deeper"), ("search", "both"), script=reply)

    assert heard == {"plan": [], "first": ["both"], "second": ["deeper", "both"], "write": []}


NESTED = RouterFlow(
    unit("route"), {"deep": unit("security") >> unit("report"), "quick": step(lambda _: 1, id="quick")}
)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("secruity", "can reach no unit; the nearest are: security, deep/security"),
        ("deep/sec", "the nearest are: deep/security"),
        ("security/**/x", "can reach no unit"),
        ("deep", "it is a flow: deep/\\*\\* reaches every unit in it"),
        ("quick", "can reach no unit"),
        ("*/actor", "can reach no unit"),
        ("", "must be a path, a unit id or a pattern, not ''"),
        ("  ", "must be a path"),
        (7, "must be a path, a unit id or a pattern, not 7"),
        ("deep//security", "has an empty segment"),
        ("/security", "has an empty segment"),
        ("deep/**x", "stands for whole segments"),
    ],
)
async def test_an_address_that_can_reach_no_unit_is_refused(address: Any, told: str) -> None:
    workflow = Workflow(NESTED, model=ScriptedModel([]))

    with pytest.raises(PlaitError, match=told):
        await workflow.steer("t", address, "hello")


@pytest.mark.parametrize(
    "address", ["security", "deep/security", "deep/*", "**", "deep/**", "*", "**/sec*", "deep/security[3]"]
)
async def test_an_address_that_may_reach_a_unit_is_taken(address: str) -> None:
    item = await Workflow(NESTED, model=ScriptedModel([])).steer("t", address, "hello")

    assert (item.address, item.kind) == (address, "steer")


async def test_a_blank_thread_is_refused() -> None:
    with pytest.raises(PlaitError, match="thread_id must not be blank"):
        await Workflow(NESTED, model=ScriptedModel([])).steer(" ", "security", "hello")


async def test_a_fork_is_told_again_what_it_rewound() -> None:
    model = ScriptedModel(lambda _: RESULT)
    workflow = Workflow(unit("a") >> unit("b"), model=model)
    await workflow.steer("t", "a", "early")
    await workflow.steer("t", "b", "late")
    await workflow.run("Go.", thread_id="t")

    forked = await workflow.thread("t").fork("b")
    await forked.resume()

    assert [request.user for request in model.requests] == ["early", "late", "late"]

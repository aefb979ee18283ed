"""RouterFlow: labels however they are written, unknown ones, defaults, and what the handler is told."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from plait import DefinitionError, Finish, RouterFlow, RunError, Skip, Snapshot, Workflow, WorkflowUnit, step
from plait.testing import ScriptedModel, call, text

pick = WorkflowUnit("pick", prompt="Pick.")
bill, chat = (WorkflowUnit(name, answer="text") for name in ("bill", "chat"))
HANDLERS = {"bill": bill, "chat": chat}


class Route(BaseModel):
    route: Literal["bill", "chat"]
    why: str = ""


class Kind(Enum):
    BILL = "bill"
    CHAT = "chat"


class Loose(BaseModel):
    route: str


def model(*picks: Any) -> ScriptedModel:
    return ScriptedModel({"pick": list(picks), "bill": [text("billed")], "chat": [text("chatted")]})


async def paths(flow: RouterFlow, *picks: Any) -> list[str]:
    result = await Workflow(flow, model=model(*picks)).run("go")
    return [record.path for record in result.steps]


async def test_only_the_named_handler_runs() -> None:
    result = await Workflow(RouterFlow(pick, HANDLERS), model=model(call("resolve", value="chat"))).run("go")
    assert [record.path for record in result.steps] == ["pick", "chat"]
    assert (result.outcome, result.output) == ("done", "chatted")


@pytest.mark.parametrize("label", ["chat", "Chat", " chat ", "**chat**", '"chat"', "`chat`", "CHAT", "chat."])
async def test_a_label_is_read_however_it_is_written(label: str) -> None:
    assert await paths(RouterFlow(pick, HANDLERS), call("resolve", value=label)) == ["pick", "chat"]


async def test_a_label_in_plain_text_will_do() -> None:
    assert await paths(RouterFlow(pick, HANDLERS), text("chat")) == ["pick", "chat"]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (Route, {"route": "bill", "why": "money"}),
        (Kind, {"value": "bill"}),
        (Literal["bill", "chat"], {"value": "bill"}),
        (Loose, {"route": "Bill"}),
    ],
)
async def test_the_label_is_found_in_any_schema(output: Any, said: dict[str, str]) -> None:
    assert await paths(RouterFlow(pick.with_(output=output), HANDLERS), call("resolve", said)) == [
        "pick",
        "bill",
    ]


async def test_the_label_may_be_named_by_field_or_computed() -> None:
    class Rated(BaseModel):
        topic: str
        score: int

    rated = pick.with_(output=Rated)
    said = call("resolve", topic="bill", score=9)
    assert await paths(RouterFlow(rated, HANDLERS, route="topic"), said) == ["pick", "bill"]
    computed = RouterFlow(rated, HANDLERS, route=lambda r: "chat" if r.score > 5 else "bill")
    assert await paths(computed, said) == ["pick", "chat"]


async def test_an_unknown_label_is_asked_again_and_told_the_handlers() -> None:
    asked = model(call("resolve", value="weather"), call("resolve", value="chat"))
    await Workflow(RouterFlow(pick, HANDLERS), model=asked).run("go")
    told = asked.requests[1].messages[-1].text
    assert "bill" in told
    assert "chat" in told


async def test_an_unknown_label_in_the_end_fails_and_no_handler_runs() -> None:
    with pytest.raises(RunError) as failed:
        await Workflow(RouterFlow(pick, HANDLERS), model=model(*[call("resolve", value="weather")] * 3)).run(
            "go"
        )
    assert failed.value.reason == "unknown-route"
    assert "bill, chat" in str(failed.value)
    assert [record.path for record in failed.value.result.steps] == ["pick"]


async def test_a_computed_label_that_no_handler_has_fails_too() -> None:
    flow = RouterFlow(pick.with_(output=Loose), HANDLERS, route=lambda r: "elsewhere")
    with pytest.raises(RunError, match="elsewhere") as failed:
        await Workflow(flow, model=model(call("resolve", route="x"))).run("go")
    assert failed.value.reason == "unknown-route"


@pytest.mark.parametrize("said", [call("resolve", value="weather"), text("no idea")])
async def test_the_default_takes_what_is_unknown(said: Any) -> None:
    flow = RouterFlow(pick, HANDLERS, default="chat")
    assert (await paths(flow, *[said] * 3))[-1] == "chat"


async def test_a_router_that_fails_for_another_reason_is_not_sent_to_the_default() -> None:
    broken = ScriptedModel({"pick": [ConnectionError("no line")]})
    with pytest.raises(RunError) as failed:
        await Workflow(RouterFlow(pick, HANDLERS, default="chat"), model=broken).run("go")
    assert (failed.value.path, failed.value.reason) == ("pick", "provider")


async def test_a_handler_is_told_the_task_and_what_the_router_said_beside_its_label() -> None:
    asked = model(call("resolve", route="bill", why="money"))
    await Workflow(RouterFlow(pick.with_(output=Route), HANDLERS), model=asked).run("go")
    assert asked.requests[1].user.startswith("go")
    assert "money" in asked.requests[1].user


async def test_a_handler_is_not_told_a_mere_label() -> None:
    asked = model(call("resolve", value="bill"))
    await Workflow(RouterFlow(pick, HANDLERS), model=asked).run("go")
    assert asked.requests[1].user == "go"


async def test_a_function_may_be_the_router() -> None:
    def choose(snapshot: Snapshot) -> str:
        return "chat" if "hi" in snapshot.task else "bill"

    result = await Workflow(RouterFlow(choose, HANDLERS), model=ScriptedModel({"chat": [text("hello")]})).run(
        "hi"
    )
    assert [record.path for record in result.steps] == ["choose", "chat"]


async def test_a_handler_may_be_a_flow_a_step_or_the_end() -> None:
    def stop(snapshot: Snapshot) -> Finish:
        return Finish("stopped")

    flow = RouterFlow(pick, {"bill": bill >> chat, "chat": stop})
    result = await Workflow(flow, model=model(call("resolve", value="bill"))).run("go")
    assert [record.path for record in result.steps] == ["pick", "bill/bill", "bill/chat"]
    assert (await Workflow(flow, model=model(call("resolve", value="chat"))).run("go")).output == "stopped"


async def test_a_handler_that_skips_leaves_a_run_that_is_done() -> None:
    flow = RouterFlow(pick, {"bill": step(lambda s: Skip(), id="skip"), "chat": chat})
    result = await Workflow(flow, model=model(call("resolve", value="bill"))).run("go")
    assert (result.outcome, result.output) == ("done", None)


async def test_one_unit_may_handle_two_labels() -> None:
    flow = RouterFlow(pick, {"bill": chat, "chat": chat})
    assert await paths(flow, call("resolve", value="bill")) == ["pick", "bill"]


def test_a_router_without_handlers_or_with_an_unknown_default_is_refused() -> None:
    with pytest.raises(DefinitionError, match="at least one handler"):
        RouterFlow(pick, {})
    with pytest.raises(DefinitionError, match="default='x' is no handler; there are: bill, chat"):
        RouterFlow(pick, HANDLERS, default="x")


def test_labels_without_a_handler_and_handlers_without_a_label_are_refused_before_running() -> None:
    with pytest.raises(DefinitionError, match="routes without a handler: chat"):
        Workflow(RouterFlow(pick.with_(output=Route), {"bill": bill}), model=ScriptedModel([]))
    with pytest.raises(DefinitionError, match="handlers that no route names: more"):
        Workflow(RouterFlow(pick.with_(output=Kind), {**HANDLERS, "more": bill}), model=ScriptedModel([]))


def test_routers_are_values() -> None:
    assert RouterFlow(pick, HANDLERS) == RouterFlow(pick, dict(HANDLERS))
    assert hash(RouterFlow(pick, HANDLERS)) == hash(RouterFlow(pick, HANDLERS))
    assert "default='chat'" in repr(RouterFlow(pick, HANDLERS, default="chat"))

"""The scripted model: what a script may say, who asks, how it fails."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import threading
from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from pydantic import BaseModel

from plait.core.errors import PlaitError
from plait.testing import Request, ScriptedModel, ScriptError, call, fail, reply, rules, text


def as_unit(unit: str, path: str | None = None) -> RunnableConfig:
    return {"metadata": {"plait_unit": unit, "plait_path": path or unit}}


def deep(levels: int) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(levels):
        nested = {"in": nested}
    return nested


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


# What a reply is


def test_a_list_answers_in_order() -> None:
    model = ScriptedModel([text("one"), text("two")])
    assert [model.invoke("a").text, model.invoke("b").text] == ["one", "two"]


def test_a_call_becomes_a_tool_call_with_a_fixed_id() -> None:
    message = ScriptedModel([call("add", a=1, b=2)]).invoke("go", as_unit("sum"))
    assert message.tool_calls == [
        {"name": "add", "args": {"a": 1, "b": 2}, "id": "call_sum_0_0", "type": "tool_call"}
    ]
    assert message.response_metadata == {"finish_reason": "tool_calls", "model_name": "scripted"}


def test_a_list_of_calls_is_one_reply_and_may_hold_text() -> None:
    message = ScriptedModel([[text("both"), call("a"), call("b").with_id("b1")]]).invoke("go")
    assert message.text == "both"
    assert [made["id"] for made in message.tool_calls] == ["call_x_0_0", "b1"]


def test_arguments_whose_names_clash_go_in_a_mapping() -> None:
    assert call("save", {"tool": "x", "args": [1]}, usage=2).args == {"tool": "x", "args": [1], "usage": 2}


def test_a_call_takes_only_what_json_can_say() -> None:
    with pytest.raises(ScriptError, match=r"call\('pay'\): a model can only send JSON: .*Decimal"):
        call("pay", amount=Decimal("1"))
    with pytest.raises(ScriptError, match="key 1 is no string"):
        call("pay", by={1: "one"})
    assert call("pay", to=("a", "b")).args == {"to": ["a", "b"]}


def test_a_whole_message_is_used_as_it_is_but_copied() -> None:
    mine = AIMessage("hi", tool_calls=[{"name": "t", "args": {"a": []}, "id": None}], name="bot")
    model = ScriptedModel([mine, mine])
    model.invoke("go").tool_calls[0]["args"]["a"].append(1)
    again = model.invoke("go")
    assert (again.tool_calls, again.name, again.usage_metadata) == (mine.tool_calls, "bot", None)
    assert mine.tool_calls[0]["args"] == {"a": []}


def test_no_caller_can_change_the_script() -> None:
    model = ScriptedModel(lambda request: call("t", a=[]))
    model.invoke("go").tool_calls[0]["args"]["a"].append(1)
    assert model.invoke("go").tool_calls[0]["args"] == {"a": []}


@pytest.mark.parametrize("step", [fail(KeyError("k")), KeyError("k"), fail(KeyError)])
def test_a_failure_is_raised_instead_of_a_reply(step: Any) -> None:
    model = ScriptedModel([step, text("better")])
    with pytest.raises(KeyError):
        model.invoke("go")
    assert model.invoke("go").text == "better"


def test_usage_is_guessed_given_or_withheld() -> None:
    model = ScriptedModel([text("x" * 9), text("", usage=(10, 5)), reply(call("t"), usage=None)])
    usages = [model.invoke("y" * 8).usage_metadata for _ in range(3)]
    assert usages[0] == {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}
    assert usages[1] == {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    assert usages[2] is None


def test_the_finish_reason_can_be_given() -> None:
    cut = [text("so f", finish="length"), reply("a", call("t"), finish="length"), text("", finish=None)]
    model = ScriptedModel(cut)
    assert [model.invoke("go").response_metadata["finish_reason"] for _ in cut] == ["length", "length", None]


@pytest.mark.parametrize("script", [["text"], [[1]], "text", 3, [None], {"a": "text"}])
def test_what_is_no_script_is_refused_at_once(script: Any) -> None:
    with pytest.raises(ScriptError):
        ScriptedModel(script)


# Who asks, and what was sent


def test_each_unit_reads_its_own_script() -> None:
    by_path = lambda request: text(f"for {request.path}")  # noqa: E731
    model = ScriptedModel({"a": [text("for a"), text("more")], "b": by_path})
    assert model.invoke("go", as_unit("a")).text == "for a"
    assert model.invoke("go", as_unit("b", "deep/b[2]")).text == "for deep/b[2]"
    assert model.invoke("go", as_unit("a")).text == "more"


def test_a_request_shows_what_was_sent() -> None:
    earlier = [SystemMessage("be kind"), HumanMessage("first"), AIMessage("ok"), HumanMessage("second")]
    asked = AIMessage("", tool_calls=[{"name": "add", "args": {}, "id": "1"}])
    result = ToolMessage("3", tool_call_id="1")
    model = ScriptedModel(lambda request: text("done"))
    model.bind_tools([add], tool_choice="any").invoke([*earlier, asked, result], stop=["."])
    request = model.requests[0]
    assert (request.unit, request.path, request.system) == (None, None, "be kind")
    assert (request.first_user, request.user, request.replies) == ("first", "second", 2)
    assert (request.last, request.tool_results) == (result, (result,))
    assert (request.tools, request.kwargs) == (("add",), {"tool_choice": "any", "stop": ["."]})
    with pytest.raises(FrozenInstanceError):
        request.unit = "other"  # type: ignore[misc]


def test_tools_of_every_form_are_bound_in_openai_form() -> None:
    class Route(BaseModel):
        """Where to go."""

        to: str

    def look(place: str) -> str:
        """Look around."""
        return place

    plain = {"type": "function", "function": {"name": "raw", "parameters": {"type": "object"}}}
    model = ScriptedModel([text("")])
    model.bind_tools([add, look, Route, plain]).invoke("go")
    assert model.requests[0].tools == ("add", "look", "Route", "raw")
    assert model.requests[0].tool_schemas[3] == plain
    assert model.requests[0].kwargs == {}


def test_rules_answer_by_what_the_user_said() -> None:
    model = ScriptedModel(
        rules(
            (lambda request: bool(request.tool_results), text("done")),
            ("refund", call("refund")),
            ("hi", lambda request: text(request.user.upper())),
        )
    )
    assert model.invoke("a refund please").tool_calls[0]["name"] == "refund"
    assert model.invoke("hi you").text == "HI YOU"
    assert model.invoke([HumanMessage("refund"), ToolMessage("ok", tool_call_id="1")]).text == "done"
    with pytest.raises(ScriptError, match=r"no rule for a request without a unit.*human: 'bye'"):
        model.invoke("bye")


# Strictness


def test_a_request_beyond_the_script_is_an_error_that_says_where() -> None:
    model = ScriptedModel({"record": [text("one")]})
    model.invoke("a", as_unit("record"))
    with pytest.raises(ScriptError, match=r"'deep/record' asked once more.* 1 replies;.*human: 'and then"):
        model.invoke("and then?", as_unit("record", "deep/record"))
    assert ScriptError.__bases__ == (PlaitError, AssertionError)


def test_unknown_and_missing_units_are_errors_that_list_the_known_ones() -> None:
    model = ScriptedModel({"a": [], "b": []})
    with pytest.raises(ScriptError, match="no script for unit 'c'; there is one for 'a', 'b'"):
        model.invoke("go", as_unit("c"))
    with pytest.raises(ScriptError, match=r"names no unit.*'a', 'b'"):
        model.invoke("go")


def test_check_lists_the_replies_that_nobody_asked_for() -> None:
    three = [text("1"), text("2"), text("3")]
    model = ScriptedModel({"a": three, "b": [text("1")], "c": lambda request: None})
    model.invoke("go", as_unit("a"))
    with pytest.raises(ScriptError) as caught:
        model.check()
    assert str(caught.value).splitlines() == [
        "not used: the script of 'a': 2 of 3 replies, from [1] on",
        "not used: the script of 'b': 1 of 1 replies, from [0] on",
    ]


def test_check_tells_of_a_refused_request_that_somebody_swallowed() -> None:
    model = ScriptedModel([])
    with pytest.raises(ScriptError):
        model.invoke("go")
    with pytest.raises(ScriptError, match="asked once more"):
        model.check()


def test_the_with_block_checks_only_when_it_ends_well() -> None:
    with pytest.raises(ScriptError, match="not used"), ScriptedModel([text("left")]):
        pass
    with pytest.raises(KeyError), ScriptedModel([text("left")]):
        raise KeyError
    with ScriptedModel([text("used")]) as model:
        model.invoke("go")


# Depth, time, threads


def test_a_history_of_any_depth_can_be_sent_back() -> None:
    very_deep = AIMessage("", tool_calls=[{"name": "t", "args": deep(5_000), "id": "1"}])
    messages: list[BaseMessage] = [HumanMessage("go"), very_deep, ToolMessage("ok", tool_call_id="1")]
    model = ScriptedModel([call("t", deep(5_000)), text("end")])
    inside: RunnableConfig = {"metadata": {"langgraph_checkpoint_ns": "node:1"}}
    assert model.invoke(messages, inside).text == "end"
    assert model.requests[0].replies == 1


async def test_a_delay_is_awaited_and_may_depend_on_the_request() -> None:
    delays = {"slow": 0.05, "fast": 0.0}
    model = ScriptedModel(lambda request: text(request.user), delay_s=lambda request: delays[request.user])
    done: list[str] = []

    async def ask(said: str) -> None:
        done.append(str((await model.ainvoke(said)).text))

    await asyncio.gather(ask("slow"), ask("fast"))
    assert done == ["fast", "slow"]


def test_threads_get_each_reply_once() -> None:
    model = ScriptedModel([text(str(number)) for number in range(200)])
    got: list[str] = []
    ask = lambda: got.extend(str(model.invoke("go").text) for _ in range(25))  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, got)) == list(range(200))
    model.check()


def test_it_is_an_ordinary_chat_model() -> None:
    with ScriptedModel([RuntimeError("down")]) as broken, ScriptedModel([text("backup")]) as backup:
        assert broken.with_fallbacks([backup]).invoke("go").text == "backup"
    assert broken._llm_type == "scripted"
    assert isinstance(broken.requests[0], Request)


@pytest.mark.parametrize("module", ["replies", "script", "scripted"])
def test_the_examples_in_the_docstrings_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"plait.testing.{module}")).failed == 0

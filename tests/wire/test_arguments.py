"""Arguments that are broken, of the wrong kind, or come in pieces; and odd call ids."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from plait import Workflow, WorkflowUnit

from .support import Raw, Reply, call, calls, ran, resolve, sse, tool_texts, wire_history_faults

# The client's own complaint when it copies arguments that are an object; a user sees it as a warning only.
clients_warning = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")


class Answer(BaseModel):
    ok: bool


class Search:
    """A tool that counts its runs."""

    def __init__(self) -> None:
        self.runs: list[Any] = []

    def tool(self) -> Any:
        def search(q: str) -> str:
            """Look something up."""
            self.runs.append(q)
            return f"found {q}"

        return search


class Get(Search):
    def tool(self) -> Any:
        def get(a: int) -> str:
            """Get number a."""
            self.runs.append(a)
            return f"got {a}"

        return get


def unit(counted: Search, **options: Any) -> WorkflowUnit[Answer]:
    return WorkflowUnit("find", prompt="Find it.", output=Answer, tools=[counted.tool()], **options)


def once_it_ran(good: Reply) -> Any:
    """Answers `good`, unless a tool has run: then resolves."""
    return lambda body: resolve(ok=True) if _has_run(body) else good


def _has_run(body: dict[str, Any]) -> bool:
    return any(text.startswith(("got", "found")) for text in tool_texts(body))


async def test_unparsable_arguments_are_answered_and_never_sent_back(wire, chat, streamed):
    counted = Search()
    wire.script(
        calls(call("search", '{"q": "x"', "c1")), calls(call("search", '{"q": "x"}', "c2")), resolve(ok=True)
    )
    result = await ran(Workflow(unit(counted), model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, result.output, counted.runs) == ("done", Answer(ok=True), ["x"])
    assert "not valid JSON" in tool_texts(wire.bodies[1])[0]
    assert wire_history_faults(wire.bodies) == []


@pytest.mark.parametrize("arguments", ['{"q": "x",}', "{'q': 'x'}"])
async def test_nearly_right_json_is_mended_and_run_once(wire, chat, streamed, arguments):
    counted = Search()
    wire.script(calls(call("search", arguments)), resolve(ok=True))
    result = await ran(Workflow(unit(counted), model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, counted.runs, result.usage.model_calls) == ("done", ["x"], 2)
    sent_back = wire.bodies[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent_back) == {"q": "x"}
    assert wire_history_faults(wire.bodies) == []


@clients_warning
@pytest.mark.parametrize("arguments", [{"a": 1}, json.dumps('{"a": 1}')], ids=["object", "JSON in JSON"])
async def test_arguments_of_another_json_kind_run_once(wire, chat, streamed, arguments):
    counted = Get()
    good = once_it_ran(calls(call("get", a=1, call_id="c2")))
    wire.script(calls(call("get", arguments)), good)
    if not streamed or isinstance(arguments, dict):
        wire.script(resolve(ok=True))
    result = await ran(Workflow(unit(counted), model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, counted.runs) == ("done", [1])
    assert wire_history_faults(wire.bodies) == []


async def test_a_list_as_arguments_is_not_run(wire, chat, streamed):
    counted = Get()
    wire.script(calls(call("get", "[1]")), resolve(ok=True))
    result = await ran(Workflow(unit(counted), model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, counted.runs) == ("done", [])
    assert "JSON object" in str(wire.bodies[1]["messages"][-1]["content"])
    assert wire_history_faults(wire.bodies) == []


@clients_warning
async def test_replies_that_are_never_readable_end_the_unit_with_an_excerpt(wire, chat, streamed):
    wire.script(*[calls(call("get", {"a": 4711}))] * 2)
    workflow = Workflow(unit(Get(), reply_attempts=2), model=chat(wire.base_url))
    result = await ran(workflow, streamed=streamed)
    assert (result.outcome, result.reason) == ("failed", "bad-model-reply")
    assert "4711" in result.message
    assert wire_history_faults(wire.bodies) == []


FRAGMENTS = [
    {"function": {"name": "get", "arguments": '{"a":'}, "id": "c1"},
    {"function": {"arguments": "1}"}},
]


@pytest.mark.parametrize("index", [{}, {"index": None}], ids=["no index", "index null"])
async def test_fragments_without_an_index_never_run_without_their_arguments(wire, chat, index):
    counted = Get()
    pieces = [{"tool_calls": [{"type": "function", **index, **piece}]} for piece in FRAGMENTS]
    wire.script(sse(*pieces, finish="tool_calls"), once_it_ran(calls(call("get", a=1, call_id="c2"))))
    wire.script(resolve(ok=True))
    result = await ran(Workflow(unit(counted), model=chat(wire.base_url)), streamed=True)
    assert (result.outcome, counted.runs) == ("done", [1])
    assert wire_history_faults(wire.bodies) == []


@pytest.mark.parametrize("index", [{}, {"index": None}], ids=["no index", "index null"])
@pytest.mark.parametrize("chunks", [1, 2])
async def test_two_whole_calls_without_an_index_stay_two(wire, chat, index, chunks):
    counted = Get()
    made = [{**call("get", a=number, call_id=f"c{number}"), **index} for number in (1, 2)]
    deltas = [{"tool_calls": made}] if chunks == 1 else [{"tool_calls": [one]} for one in made]
    wire.script(sse(*deltas, finish="tool_calls"), resolve(ok=True))
    result = await ran(Workflow(unit(counted), model=chat(wire.base_url)), streamed=True)
    assert (result.outcome, sorted(counted.runs)) == ("done", [1, 2])
    assert tool_texts(wire.bodies[1]) == ["got 1", "got 2"]
    assert wire_history_faults(wire.bodies) == []


@pytest.mark.parametrize("call_id", ["c1", "", None])
async def test_calls_with_one_id_or_none_both_run_and_keep_their_results(wire, chat, streamed, call_id):
    counted = Get()
    wire.script(calls(call("get", a=1, call_id=call_id), call("get", a=2, call_id=call_id)), resolve(ok=True))
    result = await ran(Workflow(unit(counted), model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, sorted(counted.runs)) == ("done", [1, 2])
    assert tool_texts(wire.bodies[1]) == ["got 1", "got 2"]
    assert wire_history_faults(wire.bodies) == []


async def test_an_id_used_again_later_is_replaced_and_a_fine_one_kept(wire, chat, streamed):
    wire.script(calls(call("get", a=1)), calls(call("get", a=2)), resolve("fine", ok=True))
    wire.script(calls(call("get", a=3)), resolve("fine", ok=False))
    workflow = Workflow(unit(Get(), memory="thread"), model=chat(wire.base_url))
    await ran(workflow, streamed=streamed, thread_id="t")
    result = await ran(workflow, streamed=streamed, thread_id="t")
    assert (result.outcome, result.output) == ("done", Answer(ok=False))
    sent = [one["id"] for m in wire.bodies[-1]["messages"] for one in m.get("tool_calls") or ()]
    assert (sent[0], sent[2]) == ("c1", "fine")
    assert tool_texts(wire.bodies[-1])[-1] == "got 3"
    assert wire_history_faults(wire.bodies) == []


@pytest.mark.parametrize("arguments", ['{"path": "/x"', '{"path": "/x"}', "{}"])
async def test_nothing_of_a_reply_cut_by_the_output_limit_runs(wire, chat, streamed, arguments):
    written: list[tuple[str, str]] = []

    def write(path: str, text: str = "") -> str:
        """Write a file."""
        written.append((path, text))
        return "written"

    wire.script(calls(call("write", arguments), finish="length"))
    wire.script(calls(call("write", path="/x", text="all of it", call_id="c2")), resolve(ok=True))
    unit = WorkflowUnit("save", prompt="Save it.", output=Answer, tools=[write])
    result = await ran(Workflow(unit, model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, written) == ("done", [("/x", "all of it")])
    assert "output limit" in tool_texts(wire.bodies[1])[0]
    assert wire_history_faults(wire.bodies) == []


async def test_replies_that_are_always_cut_end_the_unit(wire, chat, streamed):
    wire.script(*[Reply("and so on, and", finish="length")] * 3)
    result = await ran(Workflow(unit(Get()), model=chat(wire.base_url)), streamed=streamed)
    assert (result.outcome, result.reason, result.usage.model_calls) == ("failed", "output-limit", 3)


def test_the_helper_sees_what_breaks_the_rules():
    broken = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("get", '{"a"'), call("a b", "{}", "")],
    }
    body = {"messages": [{"role": "user", "content": "go"}, broken, {"role": "assistant", "content": " "}]}
    told = " ".join(wire_history_faults([body, {"messages": [{"role": "user", "content": "go"}]}]))
    for fault in ("not JSON", "without an id", "was not answered", "empty assistant", "'a b'", "changed"):
        assert fault in told
    assert isinstance(sse({}), Raw)

"""Tools as definitions: with a function, in a registry, or raw with one handler for all."""

import json

import pytest

from plait import (
    DefinitionError,
    Observation,
    ToolDefinition,
    ToolRegistry,
    ToolResult,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
)
from plait.nodes.toolforms import ToolFailed, handled, shown
from plait.testing import call

from ..support import answers, run, scripted

QUERY = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
DONE = call("resolve", value="done")


def definition(execute, name="search", parameters=QUERY):
    return ToolDefinition(name, "Search for q.", parameters, execute)


async def asearch(arguments):
    return f"about {arguments['q']}"


@pytest.mark.parametrize("execute", [asearch, lambda a: f"about {a['q']}", lambda a: asearch(a)])
async def test_a_definition_is_a_tool_sync_or_async(execute):
    unit = WorkflowUnit("work", tools=[definition(execute)])
    _, model = await run(unit, [call("search", q="x"), DONE])
    assert answers(model.requests[1])[0].content == "about x"
    function = model.requests[0].tool_schemas[0]["function"]
    assert function["name"] == "search"
    assert function["description"] == "Search for q."
    assert function["parameters"]["properties"] == QUERY["properties"]


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}])
async def test_a_definition_may_leave_its_properties_out(parameters):
    unit = WorkflowUnit("work", tools=[definition(lambda a: f"got {a}", parameters=parameters)])
    _, model = await run(unit, [call("search"), DONE])
    assert answers(model.requests[1])[0].content == "got {}"
    assert model.requests[0].tool_schemas[0]["function"]["parameters"] == {"type": "object", "properties": {}}


RESULTS = [
    (ToolResult(True, "two hits", ["a", "b"]), "success", 'two hits\n["a", "b"]'),
    (ToolResult(True, "two hits", {"n": 2}), "success", 'two hits\n{"n": 2}'),
    (ToolResult(True, "", "text"), "success", "text"),
    (ToolResult(True, "only a summary"), "success", "only a summary"),
    (ToolResult(True, ""), "success", "(no output)"),
    (ToolResult(False, "no such page", {"status": 404}), "error", 'no such page\n{"status": 404}'),
    (ToolResult(False, ""), "error", "it failed and said nothing"),
]


@pytest.mark.parametrize(("result", "status", "content"), RESULTS)
async def test_a_result_reaches_the_model_with_summary_and_content(result, status, content):
    unit = WorkflowUnit("work", tools=[definition(lambda _: result)])
    _, model = await run(unit, [call("search", q="x"), DONE])
    (answer,) = answers(model.requests[1])
    assert (answer.status, json_alike(answer.content)) == (status, json_alike(content))


def json_alike(content):
    return content.replace(": ", ":").replace(", ", ",")


async def test_content_blocks_stay_blocks_below_the_summary():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    unit = WorkflowUnit("work", tools=[definition(lambda _: ToolResult(True, "a picture", [image]))])
    _, model = await run(unit, [call("search", q="x"), DONE])
    assert answers(model.requests[1])[0].content == [{"type": "text", "text": "a picture"}, image]


async def test_a_plain_function_may_return_a_result_too():
    def look() -> ToolResult:
        """Look."""
        return ToolResult(False, "nothing to see")

    _, model = await run(WorkflowUnit("work", tools=[look]), [call("look"), DONE])
    (answer,) = answers(model.requests[1])
    assert (answer.status, answer.content) == ("error", "nothing to see")


async def test_a_definition_that_raises_is_an_error_without_traceback():
    def broken(arguments):
        raise KeyError("index")

    _, model = await run(WorkflowUnit("work", tools=[definition(broken)]), [call("search", q="x"), DONE])
    (answer,) = answers(model.requests[1])
    assert answer.status == "error"
    assert answer.content == "search failed: KeyError: 'index'"


async def test_a_registry_is_the_tools_of_a_unit():
    registry = ToolRegistry([definition(asearch), definition(asearch, "find")])
    unit = WorkflowUnit("work", tools=registry)
    _, model = await run(unit, [call("find", q="x"), DONE])
    assert model.requests[0].tools == ("search", "find", "resolve")
    assert [tool["function"]["name"] for tool in registry.chat_tools] == ["search", "find"]
    assert len(registry) == 2
    assert registry[0].name == "search"


async def test_a_registry_runs_tools_by_hand_and_counts_its_steps():
    registry = ToolRegistry([definition(asearch), definition(lambda _: ToolResult(True, "s", 1), "typed")])
    first = await registry.run("search", {"q": "x"})
    assert first == Observation(1, "search", ToolResult(True, "", "about x"))
    assert (await registry.run("typed", {})).result == ToolResult(True, "s", 1)
    unknown = await registry.run("other", {})
    assert unknown.step == 3
    assert not unknown.result.ok
    assert "search, typed" in unknown.result.summary
    failed = await registry.run("search", {})
    assert failed.result == ToolResult(False, "search failed: KeyError: 'q'")


async def test_a_pause_inside_a_registry_is_no_failed_result():
    from langgraph.errors import GraphInterrupt

    def ask(arguments):
        raise GraphInterrupt(())

    with pytest.raises(GraphInterrupt):
        await ToolRegistry([definition(ask)]).run("search", {"q": "x"})


def test_a_registry_refuses_a_name_twice():
    with pytest.raises(DefinitionError, match="same name"):
        ToolRegistry([definition(asearch), definition(asearch)])


RAW = [
    {"type": "function", "function": {"name": "search", "description": "Search.", "parameters": QUERY}},
    {"name": "note", "description": "Note.", "parameters": {"type": "object", "properties": {}}},
    {"name": "bare"},
]


@pytest.mark.parametrize("is_async", [False, True])
async def test_raw_definitions_share_one_handler(is_async):
    seen = []

    def handle(name, args_json):
        seen.append((name, json.loads(args_json)))
        return ToolResult(name != "note", f"{name} ran")

    async def ahandle(name, args_json):
        return handle(name, args_json)

    unit = WorkflowUnit(
        "work", tools=RAW, tool_handler=ahandle if is_async else handle, tool_execution="sequential"
    )
    calls = [call("search", q="北京"), call("note"), call("bare")]
    _, model = await run(unit, [calls, DONE])
    assert seen == [("search", {"q": "北京"}), ("note", {}), ("bare", {})]
    assert [(answer.status, answer.content) for answer in answers(model.requests[1])] == [
        ("success", "search ran"),
        ("error", "note ran"),
        ("success", "bare ran"),
    ]


async def test_the_handler_gets_chinese_text_as_it_is():
    texts = []
    unit = WorkflowUnit("work", tools=RAW[:1], tool_handler=lambda name, args: texts.append(args) or "ok")
    await run(unit, [call("search", q="午饭"), DONE])
    assert texts == ['{"q": "午饭"}']


def test_raw_definitions_without_a_handler_are_refused():
    with pytest.raises(DefinitionError, match="tool_handler="):
        Workflow(WorkflowUnit("work", tools=RAW), model=scripted([]))


@pytest.mark.parametrize("raw", [{}, {"name": " "}, {"function": {}}])
def test_a_definition_needs_a_name(raw):
    with pytest.raises(DefinitionError, match="without a name"):
        handled(raw, lambda name, args: "")


def test_what_is_no_result_is_shown_as_it_is():
    assert shown([1]) == [1]
    with pytest.raises(ToolFailed, match="down"):
        shown(ToolResult(False, "down"))


class Search:
    """Search for q."""

    async def __call__(self, q: str, runtime: ToolRuntime) -> str:
        runtime.shared.set("asked", q)
        return f"about {q}"


class SyncSearch:
    """Search for q."""

    def __call__(self, q: str) -> str:
        return f"about {q}"


@pytest.mark.parametrize("tool", [Search(), SyncSearch()], ids=["async", "sync"])
async def test_an_object_that_can_be_called_is_a_tool_of_its_class_name(tool):
    unit = WorkflowUnit("work", tools=[tool])
    _, model = await run(unit, [call(type(tool).__name__, q="x"), DONE])
    function = model.requests[0].tool_schemas[0]["function"]
    assert answers(model.requests[1])[0].content == "about x"
    assert function["description"] == "Search for q."
    assert list(function["parameters"]["properties"]) == ["q"]

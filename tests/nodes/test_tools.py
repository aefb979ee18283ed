"""Tools inside a unit: what is injected, what they may return, and how they are called."""

import asyncio
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langgraph.prebuilt import InjectedState, InjectedStore
from langgraph.prebuilt import ToolRuntime as LangGraphToolRuntime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel

from plait import DefinitionError, SequentialFlow, ToolRuntime, Workflow, WorkflowUnit
from plait.core.bus import Broadcast
from plait.nodes.tools import toolset
from plait.testing import call, reply, text

from ..support import answers, failure, run, scripted


class Ok(BaseModel):
    ok: bool


DONE = call("resolve", ok=True)


def unit_with(*tools, **options):
    return WorkflowUnit("work", output=Ok, tools=tools, **options)


async def test_the_runtime_shows_state_context_call_id_and_what_the_unit_sees():
    seen = {}

    def look(q: str, runtime: ToolRuntime) -> str:
        """Look for q."""
        seen.update(
            call_id=runtime.tool_call_id,
            context=runtime.context,
            asked=runtime.state["messages"][-1].tool_calls,
            key=runtime.shared.get("key"),
            state=runtime.state["key"],
            task=runtime.snapshot.task,
            path=runtime.snapshot.path,
        )
        return q

    model = scripted([call("look", q="x").with_id("c1"), DONE])
    workflow = Workflow(unit_with(look), model=model)
    await workflow.run("Go.", context={"user": "mei"}, state={"key": 1})
    assert seen.pop("asked")[0]["id"] == "c1"
    assert seen == {
        "call_id": "c1",
        "context": {"user": "mei"},
        "key": 1,
        "state": 1,
        "task": "Go.",
        "path": "work",
    }


async def test_langgraphs_own_runtime_is_injected_as_well():
    def look(runtime: LangGraphToolRuntime[str, Any]) -> str:
        """Look."""
        return f"{runtime.context} {runtime.tool_call_id}"

    model = scripted([call("look").with_id("c1"), DONE])
    await Workflow(unit_with(look), model=model).run("Go.", context="mine")
    assert answers(model.requests[1])[0].content == "mine c1"


async def test_state_is_injected_whole_and_by_key():
    def look(state: Annotated[dict, InjectedState], key: Annotated[int, InjectedState("key")]) -> str:
        """Look."""
        return f"{key} {len(state['messages'])} {state['key']}"

    model = scripted([call("look"), DONE])
    await Workflow(unit_with(look), model=model).run("Go.", state={"key": 7})
    assert answers(model.requests[1])[0].content == "7 2 7"


async def test_the_store_is_injected():
    async def look(store: Annotated[BaseStore, InjectedStore()]) -> str:
        """Look."""
        return (await store.aget(("facts",), "sky")).value["colour"]

    store = InMemoryStore()
    store.put(("facts",), "sky", {"colour": "blue"})
    _, model = await run(unit_with(look), [call("look"), DONE], store=store)
    assert answers(model.requests[1])[0].content == "blue"


async def test_a_tool_that_wants_a_store_without_one_is_told_so():
    def look(store: Annotated[Any, InjectedStore()]) -> str:
        """Look."""
        return "never"

    _, model = await run(unit_with(look), [call("look"), DONE])
    (answer,) = answers(model.requests[1])
    assert answer.status == "error"
    assert "store" in answer.content


@tool
def stamp(name: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Stamp."""
    return f"{name} {call_id}"


async def test_the_call_id_is_injected():
    _, model = await run(unit_with(stamp), [call("stamp", name="a").with_id("c9"), DONE])
    assert answers(model.requests[1])[0].content == "a c9"


async def test_a_tool_gets_the_users_config():
    def look(config: RunnableConfig) -> str:
        """Look."""
        return f"{config['metadata']['who']} {config['configurable']['thread_id']}"

    model = scripted([call("look"), DONE])
    await Workflow(unit_with(look), model=model).run(
        "Go.", thread_id="t", config={"metadata": {"who": "mei"}}
    )
    assert answers(model.requests[1])[0].content == "mei t"


async def test_injected_arguments_are_never_in_the_schema():
    def look(
        q: str,
        runtime: ToolRuntime,
        state: Annotated[dict, InjectedState],
        config: RunnableConfig,
        store: Annotated[Any, InjectedStore()],
        secret: Annotated[str, InjectedToolArg] = "none",
    ) -> str:
        """Look."""
        return q

    _, model = await run(unit_with(look, stamp), [DONE])
    shown = {
        s["function"]["name"]: s["function"]["parameters"]["properties"]
        for s in model.requests[0].tool_schemas
    }
    assert set(shown["look"]) == {"q"}
    assert set(shown["stamp"]) == {"name"}


async def test_the_model_cannot_fill_an_injected_argument():
    def look(secret: Annotated[str, InjectedToolArg] = "kept") -> str:
        """Look."""
        return secret

    _, model = await run(
        unit_with(look, stamp), [[call("look", secret="mine"), call("stamp", name="a", call_id="x")], DONE]
    )
    first, second = answers(model.requests[1])
    assert first.content == "kept"
    assert not second.content.endswith(" x")


async def test_a_tool_writes_shared_state_that_a_later_call_and_unit_see():
    def put(n: int, runtime: ToolRuntime) -> str:
        """Put."""
        runtime.shared.set("n", n)
        return str(runtime.shared.get("n"))

    def get(runtime: ToolRuntime) -> str:
        """Get."""
        return str(runtime.shared.get("n"))

    first, second = (
        unit_with(put, get),
        WorkflowUnit("next", prompt=lambda s: f"n={s.state['n']}", answer="text"),
    )
    model = scripted({"work": [call("put", n=3), call("get"), DONE], "next": [text("Fine.")]})
    result = await Workflow(SequentialFlow(first, second), model=model).run("Go.")
    assert answers(model.requests[2])[1].content == "3"
    assert model.requests[3].system == "n=3"
    assert result.state == {"n": 3}
    assert [message.key for message in result.bus if message.type == "state-update"] == ["n"]


async def test_a_tool_that_fails_writes_nothing():
    def put(runtime: ToolRuntime) -> str:
        """Put."""
        runtime.shared.set("n", 1)
        raise ValueError("after all not")

    result, _ = await run(unit_with(put), [call("put"), DONE])
    assert result.state == {}


async def test_a_tool_publishes_on_the_bus():
    def shout(runtime: ToolRuntime) -> str:
        """Shout."""
        runtime.publish(Broadcast(source="work", content="hear"))
        return "shouted"

    result, _ = await run(unit_with(shout), [call("shout"), DONE])
    assert [message.content for message in result.bus if message.type == "broadcast"] == ["hear"]


async def test_a_command_updates_the_state_and_answers_its_call():
    def book(call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Book."""
        return Command(update={"booked": True, "messages": [ToolMessage("booked it", tool_call_id=call_id)]})

    result, model = await run(unit_with(book), [call("book"), DONE])
    assert answers(model.requests[1])[0].content == "booked it"
    assert result.state == {"booked": True}


async def test_a_command_without_a_message_is_answered_all_the_same():
    result, model = await run(
        unit_with(lambda_tool("book", Command(update={"booked": 1}))), [call("book"), DONE]
    )
    assert len(answers(model.requests[1])) == 1
    assert result.state == {"booked": 1}


async def test_messages_of_a_command_beside_the_answer_come_after_the_results():
    note = Command(update={"messages": [HumanMessage("Mind the gap.")]})
    _, model = await run(
        unit_with(lambda_tool("note", note), lambda_tool("look", "seen")),
        [[call("note"), call("look")], DONE],
    )
    assert [message.type for message in model.requests[1].messages] == [
        "human",
        "ai",
        "tool",
        "tool",
        "human",
    ]
    assert model.requests[1].user == "Mind the gap."


def lambda_tool(name, value):
    """A tool that takes nothing and returns `value`."""
    return StructuredTool.from_function(lambda: value, name=name, description=name)


async def test_content_goes_to_the_model_and_the_artifact_does_not():
    @tool(response_format="content_and_artifact")
    def fetch() -> tuple[Any, Any]:
        """Fetch."""
        return {"rows": 2}, {"table": [1, 2]}

    result, model = await run(unit_with(fetch), [call("fetch"), DONE])
    (answer,) = answers(model.requests[1])
    assert (answer.content, answer.artifact) == ('{"rows": 2}', {"table": [1, 2]})
    assert result.outcome == "done"


@pytest.mark.parametrize("artifact", [object(), 2**70, lambda: 1])
async def test_an_artifact_that_no_checkpoint_can_hold_breaks_nothing(artifact):
    @tool(response_format="content_and_artifact")
    def fetch() -> tuple[Any, Any]:
        """Fetch."""
        return "rows", artifact

    result, model = await run(unit_with(fetch), [call("fetch"), DONE])
    assert answers(model.requests[1])[0].content == "rows"
    assert result.outcome == "done"


@pytest.mark.parametrize(
    ("output", "value", "expected"), [(str, "raw text", "raw text"), (Ok, {"ok": True}, Ok(ok=True))]
)
async def test_return_direct_ends_the_unit_with_the_tools_result(output, value, expected):
    direct = StructuredTool.from_function(lambda: value, name="give", description="Give.", return_direct=True)
    result, model = await run(WorkflowUnit("work", output=output, tools=[direct]), [call("give")])
    assert result.output == expected
    assert len(model.requests) == 1


async def test_return_direct_with_what_is_no_valid_output_goes_on():
    direct = StructuredTool.from_function(lambda: "no", name="give", description="Give.", return_direct=True)
    result, _ = await run(unit_with(direct), [call("give"), DONE])
    assert result.output == Ok(ok=True)


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FILE = {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"}
SAYS = {"type": "text", "text": "What is this?"}


@pytest.mark.parametrize("block", [IMAGE, FILE])
async def test_content_blocks_of_the_input_reach_the_model(block):
    _, model = await run(unit_with(), [DONE], task=[SAYS, block])
    assert model.requests[0].last.content == [SAYS, block]


@pytest.mark.parametrize("block", [IMAGE, FILE])
async def test_content_blocks_of_a_tool_reach_the_model(block):
    _, model = await run(unit_with(lambda_tool("shot", [SAYS, block])), [call("shot"), DONE])
    assert answers(model.requests[1])[0].content == [SAYS, block]


async def test_text_beside_blocks_is_capped_and_the_blocks_stay():
    long = {"type": "text", "text": "x" * 5000}
    _, model = await run(unit_with(lambda_tool("shot", [long, IMAGE]), output_cap=1000), [call("shot"), DONE])
    shown, image = answers(model.requests[1])[0].content
    assert len(shown["text"]) <= 1300
    assert image == IMAGE


@pytest.mark.parametrize("names", [("look", "look"), ("resolve",)])
async def test_names_that_clash_are_refused_before_anything_runs(names):
    with pytest.raises(DefinitionError) as raised:
        Workflow(unit_with(*(lambda_tool(name, 1) for name in names)), model=scripted([]))
    assert names[0] in str(raised.value)


def test_what_is_no_tool_is_refused_by_name():
    with pytest.raises(DefinitionError, match="42"):
        toolset("work", [42], None)


async def test_tools_may_be_a_function_of_the_snapshot():
    unit = WorkflowUnit(
        "work", output=Ok, tools=lambda snapshot: [lambda_tool(f"for_{snapshot.task}", "seen")]
    )
    _, model = await run(unit, [call("for_mei"), DONE], task="mei")
    assert model.requests[0].tools == ("for_mei", "resolve")


async def test_a_tool_class_of_langchain_works_as_it_is():
    class Adder(BaseTool):
        name: str = "adder"
        description: str = "Add."

        def _run(self, a: int, b: int) -> int:
            return a + b

    _, model = await run(unit_with(Adder()), [call("adder", a=1, b=2), DONE])
    assert answers(model.requests[1])[0].content == "3"


async def test_arguments_that_do_not_fit_name_the_field():
    def add(a: int) -> int:
        """Add."""
        return a

    _, model = await run(unit_with(add), [call("add", a="many"), call("add"), DONE])
    first, second = answers(model.requests[2])
    assert (first.status, second.status) == ("error", "error")
    assert "a: " in first.content
    assert "a: " in second.content


async def tell_order(execution):
    order = []

    async def step(n: int) -> str:
        """Step."""
        order.append(f"start {n}")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        order.append(f"end {n}")
        return str(n)

    unit = unit_with(step, tool_execution=execution)
    _, model = await run(unit, [[call("step", n=1), call("step", n=2)], DONE])
    assert [answer.content for answer in answers(model.requests[1])] == ["1", "2"]
    return order


async def test_calls_run_side_by_side_or_one_after_the_other():
    assert (await tell_order("parallel"))[:2] == ["start 1", "start 2"]
    assert await tell_order("sequential") == ["start 1", "end 1", "start 2", "end 2"]


async def test_in_order_a_later_call_sees_what_an_earlier_one_wrote():
    def put(runtime: ToolRuntime) -> str:
        """Put."""
        runtime.shared.set("n", runtime.shared.get("n", 0) + 1)
        return str(runtime.shared.get("n"))

    unit = unit_with(put, tool_execution="sequential")
    result, model = await run(unit, [[call("put"), call("put")], DONE])
    assert [answer.content for answer in answers(model.requests[1])] == ["1", "2"]
    assert result.state == {"n": 2}


async def test_questions_of_one_reply_are_asked_together_and_each_body_ends_once():
    ended = []

    def ask(who: str, runtime: ToolRuntime) -> str:
        """Ask."""
        given = runtime.ask(f"May {who}?")
        ended.append(who)
        return str(given)

    model = scripted([[call("ask", who="a"), call("ask", who="b")], DONE])
    workflow = Workflow(unit_with(ask), model=model)
    paused = await workflow.run("Go.", thread_id="t")
    assert sorted(question.question for question in paused.interrupts) == ["May a?", "May b?"]
    assert {question.path for question in paused.interrupts} == {"work"}
    given = {question.id: question.question[4] for question in paused.interrupts}
    result = await workflow.resume("t", given)
    assert result.outcome == "done"
    assert [answer.content for answer in answers(model.requests[1])] == ["a", "b"]
    assert sorted(ended) == ["a", "b"]


async def test_text_beside_a_call_stays_in_the_history():
    _, model = await run(unit_with(lambda_tool("look", "seen")), [reply("Let me look.", call("look")), DONE])
    assert model.requests[1].messages[1].content == "Let me look."


async def test_a_unit_without_tools_fails_like_any_other():
    error = await failure(Workflow(unit_with(reminders=0), model=scripted([text("Hm.")])))
    assert error.reason == "no-resolve"

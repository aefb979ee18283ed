"""Turns of one thread: what units see of earlier ones, and what they do not."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from plait import LoopFlow, RouterFlow, RunError, SequentialFlow, Workflow, WorkflowUnit, step
from plait.nodes.history import history_faults, prefix_faults
from plait.testing import Request, ScriptedModel, call, fail, text


def echo(request: Request) -> Any:
    """A rule that answers with what was asked, so that one turn's words cannot pass for another's."""
    return text(f"You said {request.user.split(chr(10))[0]}.")


def said(request: Request) -> list[str]:
    return [message.text for message in request.messages if message.type != "system"]


def look(n: int) -> str:
    """Look."""
    return f"looked {n}"


async def ten_turns(unit: WorkflowUnit[Any], script: Any = echo) -> tuple[list[Any], ScriptedModel]:
    model = ScriptedModel(script)
    workflow = Workflow(unit, model=model)
    return [await workflow.run(f"turn {n}", thread_id="t") for n in range(1, 11)], model


async def test_the_conversation_of_ten_turns_holds_questions_and_answers_alone() -> None:
    results, _ = await ten_turns(WorkflowUnit("chat", answer="text"))
    expected = [words for n in range(1, 11) for words in (f"turn {n}", f"You said turn {n}.")]
    assert [message.text for message in results[-1].messages] == expected
    assert [message.type for message in results[-1].messages] == ["human", "ai"] * 10
    assert len({message.id for message in results[-1].messages}) == 20


async def test_a_unit_with_conversation_sees_every_earlier_turn() -> None:
    _, model = await ten_turns(WorkflowUnit("chat", answer="text", conversation=True))
    assert said(model.requests[9]) == [
        w for n in range(1, 10) for w in (f"turn {n}", f"You said turn {n}.")
    ] + ["turn 10"]
    assert prefix_faults([request.messages for request in model.requests]) == []


@pytest.mark.parametrize("memory", ["run", "none"])
async def test_a_unit_without_it_sees_its_own_turn_alone(memory: Any) -> None:
    _, model = await ten_turns(WorkflowUnit("chat", answer="text", memory=memory))
    assert [said(request) for request in model.requests] == [[f"turn {n}"] for n in range(1, 11)]


def looking(request: Request) -> Any:
    """Looks once in each turn, then resolves."""
    n = request.user.partition(" ")[2]
    return call("resolve", value=f"done {n}") if request.tool_results else call("look", n=int(n))


async def test_memory_of_a_thread_goes_on_with_tool_traffic_and_keeps_the_prefix_rule() -> None:
    results, model = await ten_turns(
        WorkflowUnit("work", prompt="Work.", tools=[look], memory="thread"), looking
    )
    last = model.requests[-1]
    assert [m.text for m in last.messages if m.type == "human"] == [f"turn {n}" for n in range(1, 11)]
    assert [m.text for m in last.messages if m.type == "tool" and m.text.startswith("looked")] == [
        f"looked {n}" for n in range(1, 11)
    ]
    assert prefix_faults([request.messages for request in model.requests]) == []
    assert [history_faults(request.messages) for request in model.requests] == [[]] * 20
    assert len({str(request.tool_schemas) for request in model.requests}) == 1
    assert [result.output for result in results] == [f"done {n}" for n in range(1, 11)]


async def test_each_turn_counts_its_own_calls_and_usage_only() -> None:
    results, _ = await ten_turns(WorkflowUnit("work", tools=[look], memory="thread"), looking)
    assert [result.usage.model_calls for result in results] == [2] * 10
    assert [[made.output for made in result.steps[0].tool_calls] for result in results] == [
        [f"looked {n}"] for n in range(1, 11)
    ]


async def test_a_new_turn_never_sees_a_former_turns_result_as_its_own() -> None:
    seen: list[Any] = []

    def note(snapshot: Any) -> None:
        seen.append((snapshot.output, [s.path for s in snapshot.steps], dict(snapshot.outputs)))

    model = ScriptedModel([text("first"), fail(ConnectionError("no line"))])
    workflow = Workflow(step(note, id="note") >> WorkflowUnit("chat", answer="text"), model=model)
    await workflow.run("one", thread_id="t")
    with pytest.raises(RunError) as raised:
        await workflow.run("two", thread_id="t")
    assert seen == [(None, [], {})] * 2
    assert raised.value.result.stored.plain is None
    assert [message.text for message in raised.value.result.messages] == ["one", "first", "two"]


# A unit with memory="thread" in a loop in a router in a child flow.

worker = WorkflowUnit("worker", tools=[look], memory="thread")
PICK = call("resolve", value="work")


def nested(saver: Any, worker_replies: Any) -> tuple[Workflow, ScriptedModel]:
    loop = LoopFlow(worker, max_iterations=3, until=lambda snapshot: str(snapshot.output).startswith("good"))
    router = RouterFlow(WorkflowUnit("pick"), {"work": loop, "rest": WorkflowUnit("rest")})
    child = SequentialFlow(router, id="child")
    model = ScriptedModel({"pick": lambda request: PICK, "worker": worker_replies})
    return Workflow(
        step(lambda snapshot: "begun", id="begin") >> child, model=model, checkpointer=saver
    ), model


def of_worker(model: ScriptedModel) -> list[Request]:
    return [request for request in model.requests if request.unit == "worker"]


def spoken(request: Request) -> list[str]:
    """The transcript in short: tasks, calls and their results."""
    found = []
    for message in request.messages:
        if isinstance(message, AIMessage):
            found += [f"{made['name']}({next(iter(made['args'].values()))})" for made in message.tool_calls]
        else:
            found.append(message.text.partition("\n")[0])
    return found


FIRST = [
    call("look", n=1),
    call("resolve", value="poor 1"),
    call("look", n=2),
    call("resolve", value="good 2"),
]
SECOND = [call("look", n=3), call("resolve", value="good 3")]
AFTER_FIRST = ["one", "look(1)", "looked 1", "resolve(poor 1)", "accepted"]


async def first_turn(saver: Any) -> None:
    workflow, _ = nested(saver, FIRST)
    assert (await workflow.run("one", thread_id="t")).output == "good 2"


async def test_deep_down_a_second_turn_goes_on_with_the_transcript() -> None:
    await first_turn(saver := InMemorySaver())
    workflow, model = nested(saver, SECOND)
    result = await workflow.run("two", thread_id="t")
    held = spoken(of_worker(model)[0])
    assert result.output == "good 3"
    assert held[: len(AFTER_FIRST)] == AFTER_FIRST
    assert held[-3:] == ["resolve(good 2)", "accepted", "two"]
    assert [held.count(f"looked {n}") for n in (1, 2)] == [1, 1]


async def test_deep_down_a_resumed_unit_goes_on_with_the_transcript() -> None:
    saver = InMemorySaver()
    workflow, _ = nested(saver, [*FIRST[:3], fail(ConnectionError("no line"))])
    with pytest.raises(RunError, match="no line"):
        await workflow.run("one", thread_id="t")
    workflow, model = nested(saver, FIRST)
    assert (await workflow.resume("t")).output == "good 2"
    (request,) = of_worker(model)
    assert spoken(request)[: len(AFTER_FIRST)] == AFTER_FIRST
    assert spoken(request)[-2:] == ["look(2)", "looked 2"]
    assert history_faults(request.messages) == []


async def test_deep_down_a_fork_goes_on_from_where_it_forked() -> None:
    await first_turn(saver := InMemorySaver())
    second, _ = nested(saver, SECOND)
    await second.run("two", thread_id="t")
    history = [point.snapshot for point in await second.thread("t").history()]
    ended = next(item for item in history if item.values.get("turn", {}).get("number") == 1 and not item.next)
    forked, model = nested(saver, [call("look", n=9), call("resolve", value="good 9")])
    result = await forked.run("other", thread_id="t", config={"configurable": ended.config["configurable"]})
    held = spoken(of_worker(model)[0])
    assert result.output == "good 9"
    assert held[-3:] == ["resolve(good 2)", "accepted", "other"]
    assert "two" not in held
    assert [message.text for message in result.messages] == ["one", "good 2", "other", "good 9"]


async def test_a_replayed_checkpoint_runs_what_came_after_it_again() -> None:
    await first_turn(saver := InMemorySaver())
    workflow, _ = nested(saver, FIRST)
    history = [point.snapshot for point in await workflow.thread("t").history()]
    before = next(item for item in history if item.next == ("child",))
    replayed, model = nested(saver, FIRST)
    graph = replayed.compile(checkpointer=saver)
    values = await graph.ainvoke(None, before.config)
    assert values["output"] == "good 2"
    assert spoken(of_worker(model)[0]) == ["one"]


async def test_an_edited_checkpoint_is_what_the_fork_goes_on_with() -> None:
    saver = InMemorySaver()
    chat = WorkflowUnit("chat", answer="text", conversation=True)
    workflow = Workflow(chat, model=ScriptedModel(echo), checkpointer=saver)
    await workflow.run("one", thread_id="t")
    graph = workflow.compile(checkpointer=saver)
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    edited = HumanMessage("ONE", id=state.values["messages"][0].id)
    await graph.aupdate_state(state.config, {"messages": [edited]}, as_node="_exit")
    result = await workflow.run("two", thread_id="t")
    assert [message.text for message in result.messages] == ["ONE", "You said one.", "two", "You said two."]


# Messages as input.


async def test_messages_may_be_the_task_with_what_was_said_before() -> None:
    model = ScriptedModel(echo)
    workflow = Workflow(WorkflowUnit("chat", answer="text", conversation=True), model=model)
    given = [HumanMessage("hello"), AIMessage("Hi."), HumanMessage("and now?")]
    result = await workflow.run(given, thread_id="t")
    assert said(model.requests[0]) == ["hello", "Hi.", "and now?"]
    assert [message.text for message in result.messages] == ["hello", "Hi.", "and now?", "You said and now?."]


async def test_a_second_turn_may_send_its_message_alone() -> None:
    workflow = Workflow(WorkflowUnit("chat", answer="text", conversation=True), model=ScriptedModel(echo))
    await workflow.run([HumanMessage("one")], thread_id="t")
    result = await workflow.run([HumanMessage("two")], thread_id="t")
    assert [message.text for message in result.messages] == ["one", "You said one.", "two", "You said two."]


async def test_two_turns_may_send_the_very_same_words() -> None:
    workflow = Workflow(WorkflowUnit("chat", answer="text", conversation=True), model=ScriptedModel(echo))
    for _ in range(2):
        result = await workflow.run([HumanMessage("again")], thread_id="t")
    assert [message.text for message in result.messages] == ["again", "You said again."] * 2


async def test_the_graph_takes_messages_as_a_server_sends_them() -> None:
    graph = Workflow(
        WorkflowUnit("chat", answer="text", conversation=True), model=ScriptedModel(echo)
    ).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    for words in ("one", "two"):
        values = await graph.ainvoke({"messages": [{"role": "user", "content": words}]}, config)
    assert [message.text for message in values["messages"]] == [
        "one",
        "You said one.",
        "two",
        "You said two.",
    ]
    assert (values["output"], values["outcome"]) == ("You said two.", "done")


async def test_content_blocks_reach_the_model_as_they_are() -> None:
    model = ScriptedModel([text("I see.")])
    blocks = [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    await Workflow(WorkflowUnit("chat", answer="text"), model=model).run(blocks)
    assert model.requests[0].messages[-1].content == blocks

"""Threads looked back on, forked, compared, and single units of them run again, on every store."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

from plait import (
    DAGFlow,
    LoopFlow,
    ParallelFlow,
    PlaitError,
    RunError,
    SequentialFlow,
    Snapshot,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    approve,
    ask,
    compare,
    reject,
    step,
    tool,
)
from plait.testing import Request, ScriptedModel, call, text

RAN: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    RAN.clear()


def echo(request: Request) -> Any:
    """Says who was asked what."""
    return text(f"{request.unit} heard {request.user}")


class Shared(BaseModel):
    """Shared keys."""

    colour: str = "red"
    draft: str = ""


def paint(snapshot: Snapshot) -> str:
    RAN.append("paint")
    return f"painted {snapshot.state.get('colour')}"


def chain(saver: Any, script: Any = echo) -> Workflow:
    draft = WorkflowUnit("draft", output=str, answer="text", output_adapter="draft")
    check = WorkflowUnit("check", prompt="Check it.", output=str, answer="text")
    return Workflow(
        draft >> step(paint) >> check, model=ScriptedModel(script), state=Shared, checkpointer=saver
    )


async def test_history_says_what_ran_and_what_is_next(saver_url: Any) -> None:
    thread = chain(saver_url).thread("t")
    await chain(saver_url).run("one", thread_id="t", state={"colour": "blue"})
    await chain(saver_url).run("two", thread_id="t")
    points = list(reversed(await thread.history()))
    told = [(p.turn, p.kind, p.last, p.next) for p in points]
    first = told[: len(told) // 2]
    assert first[0] == (1, "input", "", ())
    assert first[-5:] == [
        (1, "step", "", ("draft",)),
        (1, "step", "draft", ("paint",)),
        (1, "step", "paint", ("check",)),
        (1, "step", "check", ()),
        (1, "end", "check", ()),
    ]
    assert {turn for turn, *_ in told[len(told) // 2 :]} == {2}
    assert points[-1].snapshot.values["outcome"] == "done"
    assert all(point.time is not None for point in points)


async def test_a_fork_goes_on_from_an_edited_state_and_leaves_the_old_thread(saver_url: Any) -> None:
    workflow = chain(saver_url)
    first = await workflow.run("one", thread_id="t", state={"colour": "red"})
    before = [point.id for point in await workflow.thread("t").history()]
    forked = await workflow.thread("t").fork("paint", state={"colour": "green"}, thread_id="f")
    assert (await forked.history())[0].forked_from == ("t", (await forked.history())[0].id)
    assert await forked.state() == {"colour": "green", "draft": "draft heard one"}
    result = await forked.resume()
    assert [record.output for record in result.steps[1:]] == [
        "painted green",
        first.steps[2].output.replace("red", "green"),
    ]
    assert result.steps[0] == first.steps[0]
    assert [point.id for point in await workflow.thread("t").history()] == before
    start = (await workflow.thread("t").history())[-1]
    again = await workflow.thread("t").fork(start, thread_id="s")
    assert [point.kind for point in await again.history()] == ["input"]
    assert (await workflow.thread("t").state())["colour"] == "red"
    assert RAN == ["paint", "paint"]


async def test_an_edit_is_validated_as_any_write(saver_url: Any) -> None:
    workflow = chain(saver_url)
    await workflow.run("one", thread_id="t")
    with pytest.raises(PlaitError, match="color"):
        await workflow.thread("t").fork("paint", state={"color": "green"}, thread_id="f")
    with pytest.raises(PlaitError, match="no point"):
        await workflow.thread("t").fork("nowhere")
    with pytest.raises(PlaitError, match="already"):
        await workflow.thread("t").fork("paint", thread_id="t")
    with pytest.raises(PlaitError, match="no thread"):
        await workflow.thread("f").fork()


async def test_a_fork_at_a_turn_takes_new_input_there(saver_url: Any) -> None:
    chat = WorkflowUnit("chat", output=str, answer="text", memory="thread", conversation=True)
    workflow = Workflow(chat, model=ScriptedModel(echo), checkpointer=saver_url)
    for said in ("one", "two", "three"):
        await workflow.run(said, thread_id="t")
    forked = await workflow.thread("t").fork(2)
    model = ScriptedModel(lambda request: text("other"))
    changed = Workflow(chat, model=model, checkpointer=saver_url)
    result = await changed.run("four", thread_id=forked.id)
    heard = [message.text for message in model.requests[0].messages if message.type == "human"]
    assert heard == ["one", "two", "four"]
    assert asked_by_users(result) == ["one", "two", "four"]
    assert asked_by_users(await workflow.thread("t").result()) == ["one", "two", "three"]


def asked_by_users(result: Any) -> list[str]:
    return [message.text for message in result.messages if message.type == "human"]


def counted(name: str) -> Any:
    def run(snapshot: Snapshot) -> str:
        RAN.append(name)
        return f"{name} done"

    return step(run, id=name)


def asking(snapshot: Snapshot) -> str:
    answer = ask("how?")
    RAN.append(f"asked {answer}")
    return f"{answer} {snapshot.state.get('colour')}"


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    RAN.append(f"pay {amount}")
    return f"paid {amount}"


def paying(request: Request) -> Any:
    is_paid = request.messages[-1].type == "tool"
    return call("resolve", value="booked") if is_paid else call("pay", amount=3)


def parallel(saver: Any) -> Workflow:
    clerk = WorkflowUnit("clerk", output=str, tools=[pay])
    flow = ParallelFlow(
        counted("free"), SequentialFlow(step(asking, id="q"), counted("then"), id="seq"), clerk
    )
    return Workflow(flow >> counted("last"), model=ScriptedModel(paying), checkpointer=saver, state=Shared)


async def answered(workflow: Workflow, thread_id: str, answer: str) -> Any:
    questions = await workflow.thread(thread_id).interrupts()
    return await workflow.resume(
        thread_id, {q.id: approve() if q.kind == "approval" else answer for q in questions}
    )


@pytest.mark.parametrize("when", ["while it is paused", "after it ended"])
async def test_a_fork_of_a_paused_thread_keeps_what_had_finished(saver_url: Any, when: str) -> None:
    workflow = parallel(saver_url)
    paused = await workflow.run("go", thread_id="t")
    assert len(paused.interrupts) == 2
    point = next(p for p in await workflow.thread("t").history() if p.kind == "paused")
    if when == "after it ended":
        done = await answered(workflow, "t", "first")
        assert done.outcome == "done"
    assert RAN.count("free") == 1
    RAN.clear()
    forked = await workflow.thread("t").fork(point.id, state={"colour": "green"}, thread_id="f")
    assert await forked.interrupts() == list(paused.interrupts)
    result = await answered(workflow, "f", "second")
    assert result.outcome == "done"
    assert sorted(RAN) == ["asked second", "last", "pay 3", "then"]
    assert result.output == "last done"
    outputs = {record.path.split("/")[-1]: record.output for record in result.steps}
    assert outputs["q"] == "second green"
    if when == "after it ended":
        table = await workflow.thread("t").compare("f")
        assert table.first is not None
        assert table.first.path.endswith("q")
        assert [row.path.split("/")[-1] for row in table.differences] == ["q"]
    else:
        assert (await answered(workflow, "t", "first")).outcome == "done"


async def test_a_comparison_reads_well() -> None:
    saver = InMemorySaver()
    one = await chain(saver).run("one", thread_id="a")
    two = await chain(saver).run("two", thread_id="b")
    table = compare(one, two)
    assert compare(one, one).is_same
    assert not table.is_same
    assert table.first.path == "draft"
    assert repr(table).splitlines()[:2] == [
        "a | b: 2 of 3 steps differ",
        "  draft: output 'draft heard one' | 'draft heard two'; text 'draft heard one' | 'draft heard two'",
    ]
    assert repr(table).splitlines()[-1] == "  paint: the same"


async def test_a_unit_is_run_again_on_what_it_saw_with_another_prompt_and_model(saver_url: Any) -> None:
    workflow = chain(saver_url)
    first = await workflow.run("one", thread_id="t")
    before = [point.id for point in await workflow.thread("t").history()]
    other = ScriptedModel([text("other")])
    again = await workflow.thread("t").rerun("check", prompt="Check it well.", model=other)
    assert again.before == first.steps[-1]
    assert (again.after.path, again.after.output) == ("check", "other")
    assert "Check it well." in other.requests[0].messages[0].text
    assert "painted red" in other.requests[0].user
    assert again.row.differences[:2] == ("output", "text")
    assert [point.id for point in await workflow.thread("t").history()] == before
    same = await workflow.thread("t").rerun("check")
    assert same.after.output == first.steps[-1].output
    changed = await workflow.thread("t").rerun("check", task="something else")
    assert "something else" in changed.after.output


def deep(saver: Any, scheduling: Any) -> Workflow:
    """Units three levels deep, behind others that they wait for, and in the passes of a loop."""
    names = ("plan", "first", "one", "two", "join", "again", "end")
    u = {name: WorkflowUnit(name, output=str, answer="text", output_adapter=f"key_{name}") for name in names}
    dag = DAGFlow(
        u["first"], {"one": u["one"], "two": u["two"]}, u["join"], dependencies={"two": ["one"]}, id="dag"
    )
    loop = LoopFlow(u["again"], max_iterations=2, until=None, id="loop")
    flow = (
        u["plan"] >> ParallelFlow(SequentialFlow(dag, loop, id="seq"), counted("aside"), id="par") >> u["end"]
    )
    return Workflow(flow, model=ScriptedModel(echo), checkpointer=saver, scheduling=scheduling)


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
async def test_every_unit_is_run_again_on_exactly_what_it_saw(saver_url: Any, scheduling: Any) -> None:
    workflow = deep(saver_url, scheduling)
    result = await workflow.run("go", thread_id="t")
    units = [record for record in result.steps if record.kind == "unit"]
    assert {record.unit for record in units} == {"plan", "first", "one", "two", "join", "again", "end"}
    for record in units:
        again = await workflow.thread("t").rerun(record.path)
        assert again.before == record
        assert (record.path, again.after.output) == (record.path, record.output)


async def test_what_cannot_be_run_again_says_why(saver_url: Any) -> None:
    def asks(runtime: ToolRuntime) -> str:
        """Ask."""
        return str(runtime.ask("well?"))

    def script(request: Request) -> Any:
        return call("resolve", value="ended") if request.messages[-1].type == "tool" else call("asks")

    unit = WorkflowUnit("unit", output=str, tools=[asks])
    workflow = Workflow(unit, model=ScriptedModel(script), checkpointer=saver_url)
    await workflow.run("go", thread_id="t")
    await workflow.resume("t", "yes")
    with pytest.raises(PlaitError, match="asks a person"):
        await workflow.thread("t").rerun("unit")
    with pytest.raises(PlaitError, match="no point"):
        await workflow.thread("t").rerun("other")


def looking(request: Request) -> Any:
    """Looks once a turn, then says how many looks it knows of."""
    if request.messages[-1].type == "tool":
        return call("resolve", value=f"{sum(m.type == 'tool' for m in request.messages)} answers")
    return call("look")


def look() -> str:
    """Look."""
    RAN.append("look")
    return "seen"


async def test_what_a_unit_remembers_goes_with_the_fork(saver_url: Any) -> None:
    unit = WorkflowUnit("unit", output=str, tools=[look], memory="thread")
    workflow = Workflow(unit, model=ScriptedModel(looking), checkpointer=saver_url)
    said = [(await workflow.run(f"turn {n}", thread_id="t")).output for n in (1, 2, 3)]
    assert said[0] == "1 answers"
    forked = await workflow.thread("t").fork(1, thread_id="f")
    assert (await forked.history())[0].snapshot.values["transcripts"]["unit"][0].text == "turn 1"
    second = ScriptedModel(looking)
    result = await Workflow(unit, model=second, checkpointer=saver_url).run("other", thread_id="f")
    assert result.output == said[1]
    heard = [m.text for m in second.requests[-1].messages if m.type == "human"]
    assert (heard[0], heard[-1]) == ("turn 1", "other")
    assert "turn 2" not in heard
    assert (await workflow.run("turn 4", thread_id="t")).output != said[1]


async def test_messages_that_a_fork_rewound_are_delivered_in_it_again(saver_url: Any) -> None:
    store = InMemoryStore()
    workflow = Workflow(
        chain(saver_url).bound.flow,
        model=ScriptedModel(echo),
        state=Shared,
        checkpointer=saver_url,
        store=store,
    )
    await workflow.thread("t").steer("check", "be strict")
    done = await workflow.run("one", thread_id="t")
    assert "be strict" in done.steps[-1].output
    forked = await workflow.thread("t").fork("check", thread_id="f")
    again = await forked.resume()
    assert again.steps[-1].output == done.steps[-1].output
    ended = await workflow.thread("t").fork(1, thread_id="g")
    later = await workflow.run("two", thread_id=ended.id)
    assert "be strict" not in later.steps[-1].output


async def test_a_failed_thread_is_forked_and_mended(saver_url: Any) -> None:
    def fussy(snapshot: Snapshot) -> str:
        if snapshot.state.get("colour") != "green":
            raise ValueError("not this colour")
        return "fine"

    workflow = Workflow(counted("free") >> step(fussy), state=Shared, checkpointer=saver_url)
    with pytest.raises(RunError):
        await workflow.run("go", thread_id="t")
    forked = await workflow.thread("t").fork(state={"colour": "green"}, thread_id="f")
    assert (await forked.resume()).output == "fine"
    assert RAN == ["free"]
    assert (await workflow.thread("t").result()).outcome == "failed"


def careful(request: Request) -> Any:
    paid = sum(message.type == "tool" for message in request.messages)
    return call("resolve", value="booked") if paid == 2 else call("pay", amount=paid + 1)


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
@pytest.mark.parametrize("granularity", ["round", "unit"])
async def test_a_fork_of_a_past_pause_keeps_the_rounds_before_it(
    saver_url: Any, scheduling: Any, granularity: Any
) -> None:
    clerk = WorkflowUnit("clerk", output=str, tools=[pay])
    flow = counted("first") >> ParallelFlow(ParallelFlow(clerk, counted("free")), counted("aside"))
    workflow = Workflow(
        flow >> counted("last"),
        model=ScriptedModel(careful),
        checkpointer=saver_url,
        scheduling=scheduling,
        granularity=granularity,
    )
    await workflow.run("go", thread_id="t")
    await workflow.resume("t", approve())
    questions = await workflow.thread("t").interrupts()
    assert [q.question["action_request"]["args"] for q in questions] == [{"amount": 2}]
    await workflow.resume("t", approve())
    point = next(p for p in await workflow.thread("t").history() if p.kind == "paused")
    RAN.clear()
    forked = await workflow.thread("t").fork(point.id, thread_id="f")
    assert await forked.interrupts() == questions
    result = await forked.resume(reject("no"))
    assert (result.outcome, RAN) == ("done", ["last"])
    records = next(record for record in result.steps if record.unit == "clerk").tool_calls
    assert [(record.args, record.ok) for record in records] == [({"amount": 1}, True), ({"amount": 2}, False)]

"""Recordings: what is written, and that a replay answers the same run and no other."""

import asyncio
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from plait import LoopFlow, ParallelFlow, RunError, ToolRuntime, Workflow, WorkflowUnit
from plait.testing import (
    Recording,
    RecordingError,
    Replay,
    ReplayError,
    Request,
    ScriptedModel,
    call,
    fail,
    text,
)

streamed = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def price(item: str) -> Decimal:
    """The price of an item."""
    return Decimal("3.20")


async def stock(item: str, runtime: ToolRuntime) -> int:
    """How many there are."""
    runtime.shared.set(f"looked at {item}", True)
    if item == "gold":
        raise ValueError("there is none")
    return 4


def never(item: str) -> Decimal:
    """The price of an item."""
    raise AssertionError("a replayed tool is not called")


never.__name__ = "price"


def looks_up(request: Request) -> Any:
    """Both tools at once, then the answer."""
    item = request.user.split()[-1].rstrip(".")
    if not request.tool_results:
        return [call("price", item=item), call("stock", item=item)]
    return call("resolve", value=" and ".join(str(each.text) for each in request.tool_results))


def clerk(*tools: Any, name: str = "clerk") -> WorkflowUnit[Any]:
    return WorkflowUnit(name, prompt="You sell pens.", tools=tools)


async def ended(workflow: Workflow, task: str = "Sell a pen.", *, streamed: bool = False) -> Any:
    if streamed:
        return [event async for event in workflow.stream(task)][-1].result
    return await workflow.run(task)


async def record(path: Path, *, streamed: bool = False, task: str = "Sell a pen.") -> Any:
    with Recording(path) as recording:
        unit = clerk(*recording.tools([price, stock]))
        model = recording.model(ScriptedModel(looks_up))
        return await ended(Workflow(unit, model=model), task, streamed=streamed)


def replayed(replay: Replay, *tools: Any) -> Workflow:
    return Workflow(clerk(*(tools or replay.tools([never, stock]))), model=replay.model)


@streamed
async def test_a_replay_comes_to_the_same_end_without_model_and_tools(tmp_path: Path, streamed: bool) -> None:
    result = await record(tmp_path / "run.jsonl", streamed=not streamed)
    with Replay(tmp_path / "run.jsonl") as replay:
        again = await ended(replayed(replay), streamed=streamed)
    assert again.output == result.output == "3.20 and 4"
    assert again.usage == result.usage
    assert [type(step.stored.value) for step in again.steps] == [str]


async def test_a_file_has_one_fact_on_each_line(tmp_path: Path) -> None:
    await record(tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()
    facts = [json.loads(line) for line in lines]
    heads = ("request by", "system", "human", "reply", "request by", "ai", "tool", "tool", "reply")
    assert [next(iter(fact)) for fact in facts] == [*heads, "call of", "call of"]
    assert facts[4]["held"] == 2
    assert facts[-1] == {"call of": "stock", "args": {"item": "pen"}, "gave": 4}


@pytest.mark.parametrize("slowest", ["a", "c"])
async def test_the_file_does_not_depend_on_who_was_first(tmp_path: Path, slowest: str) -> None:
    def delay_s(request: Request) -> float:
        return 0.05 if request.unit == slowest else 0

    model = ScriptedModel(lambda r: call("resolve", value=r.path), delay_s=delay_s)
    with Recording(tmp_path / "run.jsonl") as recording:
        flow = ParallelFlow(*(clerk(price, name=name) for name in ("a", "b", "c")))
        await Workflow(flow, model=recording.model(model)).run("Go.")
    asked = re.findall('"request by": "(.)"', (tmp_path / "run.jsonl").read_text())
    assert asked == ["a", "b", "c"]


async def test_parallel_units_and_passes_are_matched_by_path(tmp_path: Path) -> None:
    def script(request: Request) -> Any:
        return call("resolve", value=f"{request.path} was here")

    def flow() -> Any:
        return LoopFlow(ParallelFlow(clerk(name="a"), clerk(name="b")), 2, until=lambda s: False)

    with Recording(tmp_path / "run.jsonl") as recording:
        model = recording.model(ScriptedModel(script, delay_s=lambda r: 0.02 if "a" in str(r.path) else 0))
        first = await Workflow(flow(), model=model).run("Go.")
    with Replay(tmp_path / "run.jsonl") as replay:
        again = await Workflow(flow(), model=replay.model).run("Go.")
    assert [step.output for step in again.steps] == [step.output for step in first.steps]
    assert len({step.output for step in again.steps}) == 4


async def test_what_a_tool_and_a_model_raise_is_raised_again(tmp_path: Path) -> None:
    result = await record(tmp_path / "run.jsonl", task="Sell gold.")
    assert "stock failed: ValueError: there is none" in result.output
    with Replay(tmp_path / "run.jsonl") as replay:
        assert (await ended(replayed(replay), "Sell gold.")).output == result.output

    with Recording(tmp_path / "run.jsonl") as recording, pytest.raises(RunError, match="too tired"):
        await Workflow(clerk(), model=recording.model(ScriptedModel([fail(ValueError("too tired"))]))).run(
            "Go."
        )
    with Replay(tmp_path / "run.jsonl") as replay, pytest.raises(RunError, match="too tired"):
        await Workflow(clerk(), model=replay.model).run("Go.")


@streamed
async def test_another_message_is_named_with_its_number_and_line(tmp_path: Path, streamed: bool) -> None:
    await record(tmp_path / "run.jsonl")
    told = r"request 1 of clerk is not the recorded one \(.*run.jsonl, line 3\): message 2 is .*a ring.*a pen"
    replay = Replay(tmp_path / "run.jsonl")
    with pytest.raises(ReplayError, match=told):
        await ended(replayed(replay), "Sell a ring.", streamed=streamed)
    with pytest.raises(ReplayError, match=told):
        replay.check()


async def test_another_tool_result_is_named_too(tmp_path: Path) -> None:
    def dear(item: str) -> Decimal:
        """The price of an item."""
        return Decimal("99")

    dear.__name__ = "price"
    await record(tmp_path / "run.jsonl")
    with pytest.raises(ReplayError, match=r"request 2 of clerk .*line 7\): message 4 is .*99.* was .*3\.20"):
        await replayed(Replay(tmp_path / "run.jsonl"), dear, stock).run("Sell a pen.")


async def test_another_definition_of_a_tool_is_named(tmp_path: Path) -> None:
    def cost(item: str) -> Decimal:
        """What an item costs."""
        return Decimal("3.20")

    cost.__name__ = "price"
    await record(tmp_path / "run.jsonl")
    with pytest.raises(ReplayError, match=r"request 1 of clerk .*line 1\): tools: .*price"):
        await replayed(Replay(tmp_path / "run.jsonl"), cost, stock).run("Sell a pen.")


async def test_a_call_that_was_not_recorded_ends_the_run(tmp_path: Path) -> None:
    await record(tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    changed = [line.replace("pen", "ink") if '"call of": "price"' in line else line for line in lines]
    (tmp_path / "run.jsonl").write_text("\n".join(changed))
    with pytest.raises(ReplayError, match=r'price\(\{"item": "pen"\}\) is not recorded .*line 10: .*ink'):
        await replayed(Replay(tmp_path / "run.jsonl")).run("Sell a pen.")


async def test_a_request_too_many_and_one_too_few_are_errors(tmp_path: Path) -> None:
    await record(tmp_path / "run.jsonl")
    with Replay(tmp_path / "run.jsonl") as replay:
        await replayed(replay).run("Sell a pen.")
        with pytest.raises(ReplayError, match="request 3 of clerk is one more than recorded"):
            await replayed(replay).run("Sell a pen.")
        replay.faults.clear()
    with pytest.raises(ReplayError, match=r"request 1 of clerk was never sent \(.*line 1\); 2 of its 2"):
        Replay(tmp_path / "run.jsonl").check()


async def test_a_tool_that_was_recorded_and_not_called_is_an_error(tmp_path: Path) -> None:
    await record(tmp_path / "run.jsonl")
    replay = Replay(tmp_path / "run.jsonl")
    await replayed(replay, price, *replay.tools([stock])).run("Sell a pen.")
    with pytest.raises(ReplayError, match=r'price\(\{"item": "pen"\}\) was never called \(.*line 10\)'):
        replay.check()


async def test_a_unit_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    await record(tmp_path / "run.jsonl")
    replay = Replay(tmp_path / "run.jsonl")
    with pytest.raises(ReplayError, match="boss asks, but only these were recorded: clerk"):
        await Workflow(clerk(name="boss"), model=replay.model).run("Sell a pen.")


def test_a_model_is_recorded_outside_of_a_workflow_too(tmp_path: Path) -> None:
    with Recording(tmp_path / "run.jsonl") as recording:
        assert recording.model(ScriptedModel([text("Hello.")])).invoke("Hi.").text == "Hello."
    with Replay(tmp_path / "run.jsonl") as replay:
        assert "".join(str(piece.text) for piece in replay.model.stream("Hi.")) == "Hello."


async def test_a_result_that_cannot_be_kept_is_told_at_the_end(tmp_path: Path) -> None:
    async def thing() -> object:
        """Something."""
        return object()

    model = ScriptedModel([call("thing"), call("resolve", value="ok")])
    recording = Recording(tmp_path / "run.jsonl")
    await Workflow(clerk(*recording.tools([thing])), model=recording.model(model)).run("Go.")
    with pytest.raises(RecordingError, match=r"what thing gave.*record the model only"):
        recording.close()


def test_a_file_that_is_no_recording_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"request by": "a"}\nnonsense\n')
    with pytest.raises(RecordingError, match=re.escape("run.jsonl, line 2 cannot be read")):
        Replay(tmp_path / "run.jsonl")


@pytest.mark.parametrize("text", [None, "", "\n"])
def test_a_file_without_a_recording_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "nothing.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RecordingError, match="record a run into it first"):
        Replay(path)


def test_a_recording_is_whole_also_when_its_run_broke_off(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "run.jsonl")
    workflow = Workflow(clerk(price, stock), model=recording.model(ScriptedModel(looks_up)))
    asyncio.run(workflow.run("Sell a pen."))
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 9

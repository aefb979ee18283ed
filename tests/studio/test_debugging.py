"""What one does in Studio to find a fault: stop at a part, edit what is there, go back, stop a run."""

import asyncio
import json
from typing import Any

from .cases import CASES, Case, on_each

REVIEW, PLANNED = (next(c for c in CASES if c.name == name) for name in ("code_review", "plan_execute"))
STOPS = {
    "deep:steps:bugs": {"deep/security", "deep/performance", "deep/architecture"},
    "report": {"deep/security", "deep/performance", "deep/architecture", "deep/bugs"},
}


async def begun(client: Any, case: Case, contexts: Any, **options: Any) -> str:
    """The id of a thread with a run of the case on it that stopped as `options` say."""
    thread = (await client.threads.create())["thread_id"]
    context = contexts.get(case.name)
    values = await client.runs.wait(thread, case.name, input={"task": case.task}, context=context, **options)
    assert not values.get("outcome"), values
    return str(thread)


async def deepest(client: Any, thread: str) -> Any:
    """The state of the innermost graph under way, of which a client is told beside the thread's."""
    state = await client.threads.get_state(thread, subgraphs=True)
    while inner := next(
        (task["state"] for task in state["tasks"] if (task.get("state") or {}).get("next")), None
    ):
        state = inner
    return state


async def went_on(
    client: Any, thread: str, case: Case, contexts: Any, **options: Any
) -> tuple[Any, set[str]]:
    """The thread's values at the end, and the parts of its flows that ran until then."""
    ran = set[str]()
    stream = client.runs.stream(
        thread,
        case.name,
        input=None,
        context=contexts.get(case.name),
        stream_mode="updates",
        stream_subgraphs=True,
        **options,
    )
    async for part in stream:
        assert part.event != "error", part.data
        if part.event.startswith("updates"):
            ran |= {name for name, update in part.data.items() if update and update.get("steps")}
    return (await client.threads.get_state(thread))["values"], ran


async def under_way(client: Any, thread: str, node: str) -> None:
    """Until the thread's run is in the node."""
    for _ in range(600):
        if (await client.threads.get_state(thread))["next"] == [node]:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{node} was never reached")


async def test_a_breakpoint_on_a_step_of_a_graph_stops_there(client: Any, contexts: Any) -> None:
    async def stopped(name: str) -> Any:
        thread = await begun(client, REVIEW, contexts, interrupt_before=[name])
        return thread, await deepest(client, thread)

    for (name, finished), (thread, state) in zip(
        STOPS.items(), await asyncio.gather(*map(stopped, STOPS)), strict=True
    ):
        assert state["next"] == [name.rpartition(":")[2]]
        assert finished <= {step["path"] for step in state["values"]["steps"]}
        values, ran = await went_on(client, thread, REVIEW, contexts)
        assert REVIEW.is_right(values)
        assert not {"security", "performance", "architecture"} & ran


async def test_a_breakpoint_stops_before_the_steps_of_a_plan(client: Any, contexts: Any) -> None:
    thread = await begun(client, PLANNED, contexts, interrupt_before=["writer"])
    state = await deepest(client, thread)
    assert {"large/s1", "large/s2", "large/s3"} <= {step["path"] for step in state["values"]["steps"]}
    record = next(step for step in state["values"]["steps"] if step["path"] == "large/s3")
    edited = {"steps": [{**record, "output": "about a half"}]}
    await client.threads.update_state(thread, edited, checkpoint=state["checkpoint"])
    values, ran = await went_on(client, thread, PLANNED, contexts)
    assert values["output"].endswith("divide the second by the first: about a half")
    assert not {"calculator", "converter", "calendar"} & ran


async def test_an_edited_result_is_what_later_steps_see(client: Any, contexts: Any) -> None:
    thread = await begun(client, REVIEW, contexts, interrupt_before=["deep:steps:bugs"])
    state = await deepest(client, thread)
    record = next(step for step in state["values"]["steps"] if step["path"] == "deep/performance")
    record["output"]["$value"]["findings"][0]["$value"]["message"] = "a person says so"
    await client.threads.update_state(thread, {"steps": [record]}, checkpoint=state["checkpoint"])
    values, ran = await went_on(client, thread, REVIEW, contexts)
    assert REVIEW.is_right(values)
    assert "a person says so" in json.dumps(values["output"])
    assert {"bugs", "report"} <= ran
    assert not {"security", "performance", "architecture"} & ran


async def test_an_edit_of_the_shared_state_keeps_what_siblings_have_done(client: Any, contexts: Any) -> None:
    thread = await begun(client, REVIEW, contexts, interrupt_before=["deep:steps:bugs"])
    before = {s["path"]: s for s in (await deepest(client, thread))["values"]["steps"]}
    await client.threads.update_state(thread, {"state": {"note": "seen by mei"}})
    values, ran = await went_on(client, thread, REVIEW, contexts)
    assert REVIEW.is_right(values)
    assert values["state"] == {"note": "seen by mei"}
    assert {"bugs", "report"} <= ran
    assert not {"security", "performance", "architecture", "plan"} & ran
    assert {s["path"]: s for s in values["steps"] if s["path"] in before} == before


async def test_a_call_is_edited_before_it_runs(client: Any, contexts: Any) -> None:
    case = next(case for case in CASES if case.name == "accounting")
    thread = await begun(client, case, contexts, interrupt_before=["record:act"])
    state = await deepest(client, thread)
    asked = state["values"]["messages"][-1]
    asked["tool_calls"][0]["args"]["item"] = "a late lunch"
    await client.threads.update_state(thread, {"messages": [asked]}, checkpoint=state["checkpoint"])
    values, _ = await went_on(client, thread, case, contexts)
    assert values["state"]["saved"]["$value"]["item"] == "a late lunch"


async def test_each_example_goes_back_and_forks_from_there(client: Any, contexts: Any) -> None:
    async def fork(case: Case) -> Any:
        thread = (await client.threads.create())["thread_id"]
        context = contexts.get(case.name)
        await client.runs.wait(thread, case.name, input={"task": case.task}, context=context)
        points = await client.threads.get_history(thread)
        first = next(point for point in points if point["next"] == [case.next])
        made = await client.threads.update_state(
            thread, {"state": {"forked": True}}, checkpoint=first["checkpoint"]
        )
        again = {"input": None, "context": context, "checkpoint": made["checkpoint"]}
        values = await client.runs.wait(thread, case.name, **again)
        assert case.is_right(values), values
        assert sorted(step["path"] for step in values["steps"]) == sorted(case.steps)
        after = await client.threads.get_history(thread, limit=100)
        return values["state"].get("forked"), points == after[-len(points) :]

    assert await on_each(fork) == {case.name: (True, True) for case in CASES}


async def test_each_example_is_cancelled_and_goes_on(client: Any, contexts: Any) -> None:
    async def cancel(case: Case) -> Any:
        thread = (await client.threads.create())["thread_id"]
        named, given = f"slow_{case.name}", {"context": contexts.get(case.name)}
        run = await client.runs.create(thread, named, input={"task": case.task}, **given)
        await under_way(client, thread, case.next)
        await client.runs.cancel(thread, run["run_id"], wait=True)
        state = await client.threads.get_state(thread)
        values = await client.runs.wait(thread, named, input=None, **given)
        assert case.is_right(values), values
        return state["next"]

    assert await on_each(cancel) == {case.name: [case.next] for case in CASES}

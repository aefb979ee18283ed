"""Steers and follow-ups at every moment of a unit's life, on every store."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from plait import Limits, PlaitError, RunError, Workflow, WorkflowUnit
from plait.nodes.steering import NOT_TAKEN
from plait.testing import Request, ScriptedModel, call, text

from ..support import check_requests

RESULT = call("resolve", value="ok")


class Telling:
    """A workflow whose tool and model send messages to it while it runs."""

    def __init__(self, flow: Any, script: Any, checkpointer: Any = None, **options: Any) -> None:
        self.model = ScriptedModel(script)
        self.workflow = Workflow(flow, model=self.model, checkpointer=checkpointer, **options)

    async def run(self, task: str = "Go.", **options: Any) -> Any:
        result = await self.workflow.run(task, thread_id="t", **options)
        check_requests(self.model.requests)
        return result

    def asked(self, number: int) -> list[str]:
        """What the request said, message by message."""
        return [str(message.text) for message in self.model.requests[number].messages]

    def tells(self, *said: tuple[str, str], then: Any, kind: str = "steer") -> Any:
        """A reply during which others send messages, from a thread of their own."""

        def reply(request: Request) -> Any:
            for address, message in said:
                getattr(self.workflow, f"{kind}_sync")("t", address, message)
            return then

        return reply


def steps(*replies: Any) -> Any:
    """A rule that gives one reply after the other; a function is called when its turn comes."""

    def rule(request: Request) -> Any:
        reply = replies[request.replies]
        return reply(request) if callable(reply) else reply

    return rule


def worker(telling: list[Telling], *said: tuple[str, str], **options: Any) -> WorkflowUnit[str]:
    """A unit whose second piece of work is when the messages come."""

    async def work(n: int) -> str:
        """Work."""
        if n == 2:
            for address, message in said:
                await telling[0].workflow.steer("t", address, message)
        return f"worked {n}"

    return WorkflowUnit("u", tools=[work], **options)


THREE = [call("work", n=1), call("work", n=2), call("work", n=3)]
WORKED = ["worked 1", "worked 2", "worked 3"]


async def test_steers_during_a_batch_of_calls_follow_all_its_results_in_order(saver_url: Any) -> None:
    telling: list[Telling] = []
    unit = worker(telling, ("u", "first"), ("u", "second"), steering="all")
    telling.append(Telling(unit, [THREE, RESULT], saver_url))

    result = await telling[0].run()

    assert telling[0].asked(1)[-5:] == [*WORKED, "first", "second"]
    assert (result.output, result.undelivered) == ("ok", ())


async def test_one_at_a_time_means_one_before_each_model_call() -> None:
    telling: list[Telling] = []
    unit = worker(telling, ("u", "first"), ("u", "second"))
    telling.append(Telling(unit, [THREE, RESULT, RESULT], "memory"))

    await telling[0].run()

    assert telling[0].asked(1)[-4:] == [*WORKED, "first"]
    assert telling[0].asked(2)[-3:] == ["", NOT_TAKEN, "second"]


async def test_a_steer_while_the_model_writes_its_result_keeps_the_unit_alive(saver_url: Any) -> None:
    talk = Telling(WorkflowUnit("u"), lambda request: script(request), saver_url)
    script = steps(talk.tells(("u", "in EUR"), then=RESULT), call("resolve", value="ok in EUR"))

    result = await talk.run()

    assert talk.asked(1)[-3:] == ["", NOT_TAKEN, "in EUR"]
    assert result.output == "ok in EUR"
    assert result.steps[0].usage.model_calls == 2


async def test_a_steer_while_the_model_writes_its_final_text_is_heard_too() -> None:
    talk = Telling(WorkflowUnit("u", answer="text"), lambda request: script(request))
    script = steps(talk.tells(("u", "shorter"), then=text("a long answer")), text("short"))

    assert (await talk.run()).output == "short"
    assert talk.asked(1)[-2:] == ["a long answer", "shorter"]


async def test_a_steer_that_comes_with_a_result_beside_calls_keeps_the_unit_alive() -> None:
    telling: list[Telling] = []
    unit = worker(telling, ("u", "wait"))
    telling.append(Telling(unit, [[call("work", n=2), RESULT], call("resolve", value="better")]))

    result = await telling[0].run()

    assert telling[0].asked(1)[-3:] == ["worked 2", NOT_TAKEN, "wait"]
    assert result.output == "better"
    assert [made.name for made in result.steps[0].tool_calls] == ["work"]


async def test_a_follow_up_comes_after_the_result_and_the_next_result_counts(saver_url: Any) -> None:
    talk = Telling(worker([]), lambda request: script(request), saver_url)
    first = talk.tells(("u", "and now in French"), then=call("work", n=1), kind="follow_up")
    script = steps(first, call("resolve", value="hello"), call("resolve", value="bonjour"))

    result = await talk.run()

    assert talk.asked(1)[-1] == "worked 1"
    assert talk.asked(2)[-3:] == ["", "accepted", "and now in French"]
    assert result.output == "bonjour"
    assert [m.type for m in result.bus] == ["followup", "unit-output"]


async def test_a_steer_goes_before_a_follow_up_that_waited_longer() -> None:
    talk = Telling(WorkflowUnit("u"), lambda request: script(request))
    script = steps(
        talk.tells(("u", "later"), then=RESULT, kind="follow_up"),
        talk.tells(("u", "now"), then=RESULT),
        RESULT,
        RESULT,
    )

    await talk.run()

    assert talk.asked(1)[-2:] == ["accepted", "later"]
    assert talk.asked(2)[-2:] == [NOT_TAKEN, "now"]


async def test_several_follow_ups_are_told_one_by_one() -> None:
    talk = Telling(WorkflowUnit("u"), lambda request: script(request))
    script = steps(talk.tells(("u", "a"), ("u", "b"), then=RESULT, kind="follow_up"), RESULT, RESULT)

    await talk.run()

    assert [talk.asked(n)[-1] for n in (1, 2)] == ["a", "b"]


async def test_a_message_sent_before_the_run_waits_for_the_unit(saver_url: Any) -> None:
    talk = Telling(WorkflowUnit("u"), [RESULT], saver_url)
    await talk.workflow.steer("t", "u", "in EUR")

    await talk.run()

    assert talk.asked(0) == ["Go.", "in EUR"]


async def test_user_messages_merge_where_a_server_wants_turns_to_alternate() -> None:
    talk = Telling(WorkflowUnit("u", prompt="Be kind.", strict_alternation=True, steering="all"), [RESULT])
    await talk.workflow.steer("t", "u", "one")
    await talk.workflow.steer("t", "u", "two")

    await talk.run()

    assert talk.asked(0) == ["Be kind.", "Go.\n\none\n\ntwo"]


async def test_a_message_is_on_the_bus_once_and_heard_live() -> None:
    talk = Telling(WorkflowUnit("u"), [RESULT])
    heard: list[Any] = []
    talk.workflow.bus.subscribe("steering", heard.append)
    await talk.workflow.steer("t", "u", "in EUR")

    result = await talk.run()

    steering = [message for message in result.bus if message.type == "steering"]
    assert steering == heard
    assert [(m.target, m.path, m.content) for m in steering] == [("u", "u", "in EUR")]


async def test_a_unit_out_of_rounds_is_not_kept_alive_and_the_message_is_reported(saver_url: Any) -> None:
    talk = Telling(WorkflowUnit("u", max_rounds=1), lambda request: script(request), saver_url)
    script = steps(talk.tells(("u", "too late"), then=RESULT))

    result = await talk.run()

    assert (result.output, [item.text for item in result.undelivered]) == ("ok", ["too late"])
    assert [item.text for item in (await talk.workflow.thread("t").result()).undelivered] == ["too late"]


async def test_a_unit_without_model_calls_left_is_not_kept_alive() -> None:
    talk = Telling(WorkflowUnit("u"), lambda request: script(request), limits=Limits(model_calls=1))
    script = steps(talk.tells(("u", "too late"), then=RESULT))

    assert (await talk.run()).output == "ok"


async def test_a_unit_that_fails_reports_what_it_was_not_told() -> None:
    talk = Telling(WorkflowUnit("u", reminders=0), lambda request: script(request))
    script = steps(talk.tells(("u", "too late"), then=text("no call")))

    with pytest.raises(RunError, match="never called resolve") as raised:
        await talk.run()

    assert [item.text for item in raised.value.result.undelivered] == ["too late"]


async def test_what_nobody_took_waits_for_a_later_turn(saver_url: Any) -> None:
    talk = Telling(WorkflowUnit("u", max_rounds=1), lambda request: script(request), saver_url)
    script = steps(talk.tells(("u", "too late"), then=RESULT))
    await talk.run()

    talk.workflow, talk.model = talk.workflow.replace(model=(model := ScriptedModel([RESULT]))), model
    result = await talk.run("Again.")

    assert talk.asked(0) == ["Again.", "too late"]
    assert result.undelivered == ()


async def test_a_new_turn_is_not_told_again_what_the_last_one_was_told(saver_url: Any) -> None:
    talk = Telling(WorkflowUnit("u"), lambda _: RESULT, saver_url)
    await talk.workflow.steer("t", "u", "once")

    await talk.run("First.")
    await talk.run("Second.")

    assert [talk.asked(n) for n in (0, 1)] == [["First.", "once"], ["Second."]]


async def test_another_thread_steers_a_run_on_this_loop(saver_url: Any) -> None:
    talks: list[Telling] = []

    def wait() -> str:
        """Wait for somebody to say something."""
        sender = Thread(target=lambda: talks[0].workflow.steer_sync("t", "u", "in EUR"))
        sender.start()
        sender.join(60)
        return "waited"

    talks.append(Telling(WorkflowUnit("u", tools=[wait]), [call("wait"), RESULT], saver_url))

    await talks[0].run()

    assert talks[0].asked(1)[-2:] == ["waited", "in EUR"]


async def test_a_workflow_that_shares_only_the_store_can_send() -> None:
    store = InMemoryStore()
    talk = Telling(WorkflowUnit("u"), [RESULT], store=store)
    sender = Workflow(WorkflowUnit("u"), model=ScriptedModel([]), store=store)
    await sender.steer("t", "u", "in EUR")

    await talk.run()

    assert talk.asked(0) == ["Go.", "in EUR"]


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_with_a_store_by_url_the_inbox_is_in_it(store: str, tmp_path: Path) -> None:
    url = store if store == "memory" else f"sqlite:///{tmp_path}/store.db"
    talk = Telling(WorkflowUnit("u"), lambda request: script(request), "memory", store=url)
    script = steps(talk.tells(("u", "in EUR"), then=RESULT), RESULT)

    await talk.run()

    assert talk.asked(1)[-1] == "in EUR"


async def test_a_run_and_a_thread_send_as_the_workflow_does() -> None:
    workflow = Workflow(WorkflowUnit("u", steering="all"), model=(model := ScriptedModel([RESULT, RESULT])))
    run = workflow.start("Go.", thread_id="t")
    await run.steer("u", "one")
    await workflow.thread("t").steer("u", "two")
    await workflow.thread("t").follow_up("u", "four")
    await run.follow_up("u", "three")
    await run.result()

    said = [str(message.text) for message in model.requests[-1].messages]
    assert said == ["Go.", "one", "two", "", "accepted", "four", "three"]


@pytest.mark.parametrize("said", ["", "  ", None, 3])
async def test_a_message_without_text_is_refused(said: Any) -> None:
    with pytest.raises(PlaitError, match="nothing to say to 'u'"):
        await Workflow(WorkflowUnit("u"), model=ScriptedModel([])).steer("t", "u", said)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(PlaitError, match="steering='some' is none of: 'one-at-a-time', 'all'"):
        WorkflowUnit("u", steering="some")  # type: ignore[arg-type]


async def test_odd_texts_arrive_as_they_can(saver_url: Any) -> None:
    talk = Telling(WorkflowUnit("u", steering="all"), [RESULT], saver_url)
    for odd in ("null \x00 in it", "half \ud83d", "{curly} 元 €"):
        await talk.workflow.steer("t", "u", odd)

    await talk.run()

    assert talk.asked(0)[1:] == ["null \ufffd in it", "half \ufffd", "{curly} 元 €"]

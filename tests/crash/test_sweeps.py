"""The sweep of `make crash` in short: flows with every kind of effect end alike, wherever the process dies.

And three faults, each switched on, which the sweep must find.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.pregel import Pregel

from plait import DAGFlow, Workflow, WorkflowUnit, step
from plait.core.delta import compose_all
from plait.graphs.schedule import _Round
from plait.nodes.journal import CallJournal
from plait.testing import Request, ScriptedModel, call

from .workflows import KINDS, Case, clerk, generated, mail, reply, review


@pytest.mark.parametrize("kind", KINDS)
def test_a_flow_of_each_kind_ends_alike_wherever_it_dies(kind: str) -> None:
    report = generated(kind).sweep(every=71)
    assert report.is_safe, report


def test_drawn_flows_of_flows_end_alike_too() -> None:
    report = generated("dag", 1).sweep(every=89)
    assert report.is_safe, report


def test_the_code_review_ends_alike(tmp_path: Path) -> None:
    report = review(tmp_path).sweep(every=97)
    assert report.is_safe, report


def test_a_call_in_doubt_is_asked_about_and_only_then() -> None:
    report = Case("clerk", Workflow(clerk, model=ScriptedModel(reply))).sweep(every=7)
    assert 0 < report.in_doubt < report.points
    assert {each.effect for each in report.repeated} <= {"read", "idempotent", "flow"}


def mails_once(request: Request) -> Any:
    if request.tool_results:
        return call("resolve", value="mailed")
    return call("mail", item=str(request.path))


def one_mail() -> Case:
    return Case("one mail", Workflow(WorkflowUnit("clerk", tools=[mail]), model=ScriptedModel(mails_once)))


def seen(case: Case, **options: Any) -> dict[str, str]:
    return {each.tool: each.effect for each in case.sweep(**options).repeated}


def test_a_journal_that_is_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CallJournal, "of", classmethod(lambda *_: None))
    assert seen(one_mail(), every=3) == {"mail": "unsafe"}


@pytest.mark.filterwarnings("ignore::plait.core.errors.DurabilityWarning")
def test_checkpoints_only_at_the_exit_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    invoke = Pregel.ainvoke

    async def careless(self: Any, *args: Any, **options: Any) -> Any:
        given = {"durability": "exit"} if "durability" in options else {}
        return await invoke(self, *args, **{**options, **given})

    monkeypatch.setattr(Pregel, "ainvoke", careless)
    assert seen(one_mail(), every=3) == {"mail": "unsafe"}


async def slow(snapshot: object) -> str:
    await asyncio.sleep(0.05)
    return "at last"


def two_branches() -> Case:
    """The branch that is named first takes longer to its second step."""
    first, second = (WorkflowUnit(name, tools=[mail]) for name in ("c", "d"))
    executors = {"a": step(slow), "b": step(lambda s: "at once", id="b"), "c": first, "d": second}
    flow = DAGFlow(None, executors, step(lambda s: "both", id="end"), {"c": ["a"], "d": ["b"]})
    return Case("two branches", Workflow(flow, model=ScriptedModel(mails_once)))


async def in_order_of_completion(self: _Round) -> Any:
    """The scheduler as it must not be: a step is called once what it needs has ended."""
    ended: set[str] = set()
    waiting = list(self.plan)
    while waiting:
        for each in [each for each in waiting if set(each.needs) <= ended]:
            waiting.remove(each)
            self._start(each)
        running = {self.results[path]: path for path in self.results if path not in ended}
        done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        ended |= {running[future] for future in done}
    await self._ended(self.plan)
    return compose_all(self._delta(each) for each in self.plan)


def test_a_dispatch_in_the_order_of_completion_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen(two_branches(), every=13) == {}
    monkeypatch.setattr(_Round, "run", in_order_of_completion)
    assert seen(two_branches(), every=5) == {"mail": "unsafe"}

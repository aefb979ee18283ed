"""Each served example with a task, what comes of it, and its flow to compare with what is drawn."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait import examples
from plait.examples import approvals, chat, delegation, plan_execute
from plait.examples.accounting.units import accounting
from plait.examples.code_review import DEMO_DIFF
from plait.examples.project_questions import project_workflow
from plait.examples.review.units import code_review
from plait.testing import ScriptedModel
from plait.workflow_file import load_workflow


@dataclass(frozen=True)
class Case:
    """`told` is in the output's text, `steps` are the paths of the parts that run, in their order, and
    `unit` is a unit that hears what it is told before it begins, without being led astray."""

    name: str
    flow: Any
    task: str
    told: str
    steps: tuple[str, ...]
    unit: str
    next: str

    def is_right(self, values: Any) -> bool:
        return values.get("outcome") == "done" and self.told in str(values["output"])


_FOUND = ("deep/security[1]/actor", "deep/security[1]/evaluator", "deep/security[2]/actor")
_FOUND = (*_FOUND, "deep/security[2]/evaluator", "deep/security")
_REST = ("deep/performance", "deep/architecture", "deep/bugs", "deep/report", "deep")
_PASSES = ("coder[1][1]/author", "coder[1][1]/critic", "coder[1][2]/author", "coder[1][2]/critic")
_PLANNED = ("triage", "large/planner", "large/s1", "large/s2", "large/s3", "large/writer", "large")
_asked = project_workflow(Path(), ScriptedModel([])).bound.root
_refunds = approvals.refund_workflow(ScriptedModel([])).bound.root

CASES = (
    Case(
        "accounting", accounting, "lunch 32", "'amount': 32", ("classify", "record"), "classify", "classify"
    ),
    Case(
        "approvals", _refunds, "Refund order B99.", "cannot refund B99", ("clerk", "letter"), "clerk", "clerk"
    ),
    Case("chat", chat.chat, "Hello!", "message 1 of our chat", ("route", "talk"), "route", "route"),
    Case(
        "code_review",
        code_review,
        DEMO_DIFF.read_text(encoding="utf-8"),
        "11 findings in 5 files",
        ("triage", "deep/plan", *_FOUND, *_REST),
        "triage",
        "triage",
    ),
    Case(
        "delegation",
        delegation.delegation,
        delegation.DEMO,
        "body mass index = 22.857143",
        ("orchestrator", "researcher[1]", *_PASSES, "coder[1]"),
        "researcher",
        "orchestrator",
    ),
    Case(
        "map_reduce",
        load_workflow(Path(examples.__path__[0]) / "map-reduce.yaml").bound.root,
        "The parcel was late.\nThe cup arrived broken.\nNice and cheap.",
        "Look into their quality first",
        ("judge{}", "judge{0}", "judge{1}", "judge{2}", "report", ""),
        "judge{2}",
        "judge",
    ),
    Case(
        "plan_execute",
        plan_execute.plan_and_execute,
        plan_execute.DEMO,
        "divide the second by the first: 0.579946",
        _PLANNED,
        "large/planner",
        "triage",
    ),
    Case("project_questions", _asked, "How do I run the tests?", "make test", ("ask",), "ask", "ask"),
)
NAMES = {case.name for case in CASES}


async def on_each(behaviour: Callable[[Case], Awaitable[Any]]) -> dict[str, Any]:
    """What a behaviour gives on each example; they run at the same time, since the server takes a second
    to pick a run up."""
    found = await asyncio.gather(*(behaviour(case) for case in CASES))
    return dict(zip((case.name for case in CASES), found, strict=True))

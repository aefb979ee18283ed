"""Workflows to crash: every kind of flow over units whose tools have every kind of effect."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plait import ToolRuntime, Workflow, WorkflowUnit, tool
from plait.examples.code_review import DEMO_DIFF, DEMO_REPOSITORY, unpack
from plait.examples.review.diff import numbered, read_diff
from plait.examples.review.repository import Repository
from plait.examples.review.scripted import scripted_model
from plait.examples.review.units import review_workflow
from plait.testing import CrashReport, Effects, Request, ScriptedModel, call, crash_sweep

from ..flows.generated import KINDS, STEPS, Way, kinds
from ..flows.generated import reply as other_reply

effects = Effects()


@tool(effect="read")
def look(item: str) -> str:
    """Look an item up."""
    return str(effects.happen("look", f"{item} is there", item=item))


@tool(effect="idempotent")
def label(item: str, runtime: ToolRuntime) -> str:
    """Put a label on an item, and note it."""
    runtime.shared.set(f"label {item}", True)
    return str(effects.happen("label", f"{item} has a label", item=item))


def paid(item: str) -> Any:
    """What paying an item gave, if it was paid."""
    return effects.result("pay", item=item)


@tool(effect="probe", probe=paid)
def pay(item: str) -> str:
    """Pay an item."""
    return str(effects.happen("pay", f"{item} is paid", item=item))


@tool(effect="flow")
def pack(item: str) -> str:
    """Pack an item, in steps that go on by themselves."""
    return str(effects.happen("pack", f"{item} is packed", item=item))


@tool(effect="unsafe")
async def mail(item: str) -> str:
    """Write to whoever ordered the item."""
    return str(effects.happen("mail", f"mail about {item}", item=item))


TOOLS = {each.name: each for each in (look, label, pay, pack, mail)}
clerk = WorkflowUnit("clerk", prompt="You do all at once.", tools=list(TOOLS.values()))
agent = WorkflowUnit("agent", prompt="You do one thing after the other.", tools=[mail, pay])
UNITS = (clerk, agent)


def reply(request: Request) -> Any:
    """The clerk makes all calls in one reply, the agent one in each, then they resolve."""
    item = str(request.path)
    done = len(request.tool_results)
    if request.unit == "clerk" and not done:
        return [call(name, item=item) for name in TOOLS]
    if request.unit == "agent" and done < 3:
        return call(("mail", "pay", "mail")[done], item=f"{item}.{done}")
    if request.unit in ("clerk", "agent"):
        return call("resolve", value=f"{item} after {done} calls")
    return other_reply(request)


@dataclass(frozen=True)
class Case:
    """One workflow to crash, with its task and context."""

    name: str
    workflow: Workflow
    task: str = "Go."
    context: Any = field(default_factory=Way)

    def sweep(self, **options: Any) -> CrashReport:
        return crash_sweep(self.workflow, self.task, context=self.context, may_fail=True, **options)


def generated(kind: str, seed: int = 0) -> Case:
    """A flow of one kind; with a seed, its parts are drawn and may be flows themselves."""
    dice = random.Random(f"{kind}{seed}")
    parts = [drawn(dice) for _ in range(2)] if seed else list(UNITS)
    return Case(f"{kind} {seed}", Workflow(kinds(parts)[kind], model=ScriptedModel(reply)))


def drawn(dice: random.Random) -> Any:
    """A unit, a step, or a flow of both."""
    if dice.random() < 0.6:
        return dice.choice([*UNITS, *UNITS, *STEPS])
    return kinds([dice.choice(UNITS), dice.choice(STEPS)])[dice.choice(KINDS)]


def review(folder: Path) -> Case:
    """The code review, over its small repository in `folder`."""
    unpack(DEMO_REPOSITORY.read_text(encoding="utf-8"), folder)
    task = numbered(read_diff(DEMO_DIFF.read_text(encoding="utf-8")))
    return Case("code review", review_workflow(scripted_model()), task, Repository(folder))


def cases(folder: Path, seeds: int = 1) -> Iterator[Case]:
    """Every kind of flow, plainly and with `seeds` drawn ones each, and the code review."""
    for seed in range(seeds + 1):
        yield from (generated(kind, seed) for kind in KINDS)
    yield review(folder)

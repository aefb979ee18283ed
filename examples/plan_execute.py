"""Answer questions of several parts: `python -m plait.examples.plan_execute "QUESTION"`.

A short question is answered by one unit. A longer one goes to a planner, whose plan says which
specialist does which step, and what waits for what; a writer puts the results together.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from typing import Any

from plait import DAGFlow, RouterFlow, RunResult, Workflow, WorkflowUnit
from plait.examples.arithmetic import evaluate, written
from plait.examples.command import Command
from plait.testing import Request, ScriptedModel, call, text
from plait.testing.replies import Call, Reply

DEMO = "days from 2026-01-15 to 2026-03-01; convert 42 km to miles; divide the second by the first"
_FACTORS = {
    "m": 1.0,
    "km": 1000.0,
    "miles": 1609.344,
    "feet": 0.3048,
    "g": 1.0,
    "kg": 1000.0,
    "pounds": 453.59237,
}
_LENGTHS = frozenset(("m", "km", "miles", "feet"))


def calculate(formula: str) -> str:
    """Compute a formula, such as (3 + 4) / 2."""
    return written(evaluate(formula))


def convert(amount: float, source: str, target: str) -> str:
    """Convert an amount between m, km, miles, feet, or between g, kg, pounds."""
    if not {source, target} <= set(_FACTORS) or (source in _LENGTHS) != (target in _LENGTHS):
        raise ValueError(f"cannot convert {source} to {target}")
    return written(amount * _FACTORS[source] / _FACTORS[target])


def days_between(start: str, end: str) -> str:
    """Count the days between two days, each as YYYY-MM-DD."""
    return str((dt.date.fromisoformat(end) - dt.date.fromisoformat(start)).days)


EXACT = "Use the tool, never your own head. Resolve with the bare result. Say so when it cannot be done."
triage = WorkflowUnit("triage", prompt="quick: one thing is asked. large: several, or one built on another.")
quick = WorkflowUnit("quick", prompt=EXACT, tools=[calculate, convert, days_between])
planner = WorkflowUnit(
    "planner",
    prompt="""Break the question into steps s1, s2, … for these executors: calculator (arithmetic), converter
(lengths and weights), calendar (days between dates). A step that needs results of others lists them in
depends_on and names them by id in its task, as in: divide s2 by s1.""",
)
calculator = WorkflowUnit("calculator", prompt=EXACT, tools=[calculate])
converter = WorkflowUnit("converter", prompt=EXACT, tools=[convert])
calendar = WorkflowUnit("calendar", prompt=EXACT, tools=[days_between])
writer = WorkflowUnit(
    "writer", prompt="Answer the question from the results, and name what failed.", answer="text"
)
plan_and_execute = RouterFlow(
    triage, {"quick": quick, "large": DAGFlow(planner, [calculator, converter, calendar], writer)}
)


def answering_workflow(model: Any, *, checkpointer: str = "memory") -> Workflow:
    """The workflow on a model; its output is the answer as text."""
    return Workflow(plan_and_execute, model=model, checkpointer=checkpointer, default_effect="read")


def scripted_model() -> ScriptedModel:
    """A model that needs no key: it plays the units by rules that read what they are sent."""
    executors = dict.fromkeys(("quick", "calculator", "converter", "calendar"), _execute)
    return ScriptedModel({"triage": _triage, "planner": _plan, "writer": _write, **executors})


def _parts(question: str) -> list[str]:
    found = re.split(r";|\bthen\b|\band then\b|，然后|；", question)
    return [part.strip(" ,.?") for part in found if part.strip(" ,.?")]


def _triage(request: Request) -> Call:
    return call("resolve", value="large" if len(_parts(request.first_user)) > 1 else "quick")


def _plan(request: Request) -> Call:
    steps = [_step(number, part) for number, part in enumerate(_parts(request.first_user), start=1)]
    return call("resolve", steps=steps)


def _step(number: int, part: str) -> dict[str, Any]:
    """One step; `the first` and `the result` become the ids of earlier steps."""
    places = {"first": 1, "second": 2, "third": 3, "fourth": 4, "result": number - 1}
    task = re.sub(r"\bthe (first|second|third|fourth|result)\b", lambda said: f"s{places[said[1]]}", part)
    needs = sorted({needed for needed in re.findall(r"\bs\d+\b", task) if 0 < int(needed[1:]) < number})
    return {"id": f"s{number}", "executor": _executor(task), "task": task, "depends_on": needs}


def _executor(task: str) -> str:
    if re.search(r"\bdays\b", task):
        return "calendar"
    return "converter" if re.search(r"\bconvert\b", task) else "calculator"


def _execute(request: Request) -> Call:
    """Call the tool that the task asks for, then resolve with what it gave."""
    if request.tool_results:
        told = request.tool_results[-1]
        return call(
            "resolve", value=f"cannot be done: {told.text}" if told.status == "error" else str(told.text)
        )
    known = dict(re.findall(r"^Output of \S*?(s\d+):\n(\S+)$", request.first_user, re.M))
    task = request.first_user.partition("\n\nOutput of ")[0]
    for step_id, value in known.items():
        task = re.sub(rf"\b{step_id}\b", value, task)
    return _tool_call(task)


def _tool_call(task: str) -> Call:
    if dates := re.findall(r"\d{4}-\d\d-\d\d", task):
        return call("days_between", start=dates[0], end=dates[-1])
    if said := re.search(r"([\d.]+) ?(\w+) (?:to|in|into) (\w+)", task):
        return call("convert", amount=float(said[1]), source=said[2], target=said[3])
    words = {r"divide (\S+) by (\S+)": r"\1 / \2", r"multiply (\S+) by (\S+)": r"\1 * \2",
             r"add (\S+) (?:and|to) (\S+)": r"\1 + \2", r"subtract (\S+) from (\S+)": r"\2 - \1"}  # fmt: skip
    for pattern, formula in words.items():
        task = re.sub(pattern, formula, task)
    found = re.search(r"[-(\d][-\d.+*/() ]*", task)
    if found is None:
        return call("resolve", value="cannot be done: nothing to compute")
    return call("calculate", formula=found[0].strip())


def _write(request: Request) -> Reply:
    """One line for each part of the question, with its result."""
    question = request.first_user.partition("\n\nOutput of ")[0]
    results = dict(re.findall(r"^Output of \S*?(s\d+):\n(.*)$", request.first_user, re.M))
    lines = [
        f"{part}: {results.get(f's{n}', 'no result')}" for n, part in enumerate(_parts(question), start=1)
    ]
    return text("\n".join(lines))


def _print(result: RunResult) -> None:
    for step in result.steps:
        made = ", ".join(f"{one.name} {dict(one.args)}" for one in step.tool_calls if one.name != "resolve")
        print(f"  {step.status:<8} {step.path}{f'  {made}' if made else ''}")
    print(f"\n{result.output}")


main = Command(
    "plan_execute",
    "Answer questions about numbers, lengths, weights and dates.",
    "question",
    DEMO,
    scripted_model,
    answering_workflow,
    _print,
).main


if __name__ == "__main__":
    sys.exit(main())

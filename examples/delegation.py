"""Work something out with help: `python -m plait.examples.delegation "circle area, radius=2"`.

An orchestrator delegates: to a researcher, who looks the formula up in words, and to a coder: an author
writes it down as code, a critic tries it on a known example, again and again until it is right.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from plait import DelegationFlow, ReflexionFlow, RunResult, Workflow, WorkflowUnit, field
from plait.examples.arithmetic import evaluate, written
from plait.examples.command import Command
from plait.testing import Request, ScriptedModel, call
from plait.testing.replies import Call, Reply

FORMULAS = Path(__file__).parent / "data" / "formulas.txt"
DEMO = "body mass index, weight=70 height=1.75"
_VALUE = re.compile(r"(\w+)=(-?\d+(?:\.\d+)?)")


class Code(BaseModel):
    """A formula as code."""

    formula: str = Field(description="such as: a / b ** 2")


class Verdict(BaseModel):
    """How right the code is, from 0 to 10."""

    score: int = Field(ge=0, le=10)
    feedback: str = ""


def look_up(topic: str) -> str:
    """Find formulas by words of their names: what they are in words, their variables, an example."""
    words = set(re.findall(r"\w+", topic.casefold()))
    rows = FORMULAS.read_text(encoding="utf-8").splitlines()
    found = [row for row in rows if words & set(row.partition(" = ")[0].split())]
    best = max(found, key=lambda row: len(words & set(row.partition(" = ")[0].split())), default="")
    return best or f"nothing is known about {topic!r}"


def compute(formula: str, values: dict[str, float]) -> str:
    """Compute a formula with values for its names."""
    return written(evaluate(formula, values))


orchestrator = WorkflowUnit(
    "orchestrator",
    prompt="""You work out what the user asks. Ask the researcher for the formula, give the coder all of what
came back, compute the code with the user's values, and answer in one sentence. Say so when nobody knows.""",
    tools=[compute],
)
researcher = WorkflowUnit(
    "researcher",
    prompt="Look the formula up and resolve with the entry, word for word.",
    tools=[look_up],
    description="Knows formulas: gives one in words, with its variables and an example.",
)
author: WorkflowUnit[Code] = WorkflowUnit(
    "author", prompt="Write the formula with the names of its variables and + - * / **.", output=Code
)
critic: WorkflowUnit[Verdict] = WorkflowUnit(
    "critic",
    prompt="""Compute the code on the example of the task. 10 when it gives what the example says, else
say what it gives.""",
    output=Verdict,
    tools=[compute],
)
coder = ReflexionFlow(author, critic, accept=field("score") >= 8)
delegation = DelegationFlow(orchestrator, {"researcher": researcher, "coder": coder})


def delegating_workflow(model: Any, *, checkpointer: str = "memory") -> Workflow:
    """The workflow on a model; its output is the answer as text."""
    return Workflow(delegation, model=model, checkpointer=checkpointer, default_effect="read")


def _orchestrate(request: Request) -> Call | Reply:
    told = request.tool_results
    topic = _VALUE.sub("", request.first_user).strip(" ,.:?")
    if not told:
        return call("delegate_to_researcher", task=f"Find the formula for: {topic}")
    if told[-1].status == "error" or "|" not in str(told[0].text):
        return call("resolve", value=f"This cannot be worked out: {told[-1].text}")
    if len(told) == 1:
        return call("delegate_to_coder", task=f"Write this formula as code: {told[0].text}")
    if len(told) == 2:
        formula = re.search(r'"formula":\s*"([^"]*)"', str(told[1].text))
        return call("compute", formula=formula[1] if formula else "", values=_values(request.first_user))
    return call("resolve", value=f"{topic} = {told[2].text}")


def _research(request: Request) -> Call:
    if not request.tool_results:
        return call("look_up", topic=request.first_user.partition(":")[2].strip())
    return call("resolve", value=str(request.tool_results[-1].text))


def _code(request: Request) -> Call:
    """At first the words one by one; squares and powers, which turn words around, when told it is wrong."""
    words = request.first_user.partition(" = ")[2].partition("|")[0]
    if request.replies:
        words = re.sub(r"the square of (\w+)", r"\1 ** 2", words)
        words = re.sub(r"the (\w+)-th power of (\w+)", r"\2 ** \1", words)
    words = re.sub(r"the square of|the \w+-th power of", "", words)
    for word, sign in {"divided by": "/", "times": "*", "plus": "+", "minus": "-"}.items():
        words = re.sub(rf"\b{word}\b", sign, words)
    return call("resolve", formula=" ".join(words.split()))


def _judge(request: Request) -> Call:
    """Compute the newest code on the example of the task, and compare."""
    example, _, wanted = request.first_user.partition("\n\n")[0].rpartition("|")[2].partition(" gives ")
    formula = re.findall(r'"formula":\s*"([^"]*)"', request.user)[-1]
    if not request.tool_results:
        return call("compute", formula=formula, values=_values(example))
    given = str(request.tool_results[-1].text)
    if given == wanted.strip():
        return call("resolve", score=10, feedback="it gives what the example says")
    return call("resolve", score=2, feedback=f"for {example.strip()} it gives {given}, not {wanted.strip()}")


def _values(said: str) -> dict[str, float]:
    return {name: float(value) for name, value in _VALUE.findall(said)}


SCRIPT = {"orchestrator": _orchestrate, "researcher": _research, "author": _code, "critic": _judge}


def scripted_model() -> ScriptedModel:
    """A model that needs no key: it plays the units by rules that read what they are sent."""
    return ScriptedModel(SCRIPT)


def _print(result: RunResult) -> None:
    for step in result.steps:
        print(
            f"  {step.status:<8} {step.path}{f', asked by {step.delegated_by}' if step.delegated_by else ''}"
        )
    print(f"\n{result.output}")


main = Command(
    "delegation",
    "Work something out by a formula.",
    "task",
    DEMO,
    scripted_model,
    delegating_workflow,
    _print,
).main


if __name__ == "__main__":
    sys.exit(main())

"""Twelve steps that depend on each other and take unevenly long, beside LangGraph's static edges."""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from plait import DAGFlow, Workflow, WorkflowUnit

from .double import Double, said
from .measure import Case

TASK = "Review the change."
NEEDS: Mapping[str, tuple[str, ...]] = {
    "read": (),
    "list": (),
    "history": (),
    "parse": ("read",),
    "types": ("read",),
    "tests": ("list",),
    "owners": ("history",),
    "security": ("parse",),
    "speed": ("parse", "types"),
    "coverage": ("tests",),
    "risk": ("owners", "coverage"),
    "verdict": ("security", "speed", "risk"),
}
PARTS: Mapping[str, int] = {
    "read": 1,
    "list": 1,
    "history": 6,
    "parse": 7,
    "types": 1,
    "tests": 3,
    "owners": 2,
    "security": 9,
    "speed": 2,
    "coverage": 7,
    "risk": 5,
    "verdict": 2,
}
"""How long each step takes, in parts of a second that `dag` is told."""


def critical_path(needs: Mapping[str, Sequence[str]], lasts: Mapping[str, float]) -> float:
    """The longest way through the steps, which no scheduler can shorten."""

    @cache
    def end(step: str) -> float:
        return lasts[step] + max(map(end, needs[step]), default=0.0)

    return max(map(end, needs))


def rule(messages: Sequence[BaseMessage]) -> AIMessage:
    return said(f"{messages[0].content} is done")


class State(TypedDict, total=False):
    task: str
    found: Annotated[dict[str, str], operator.or_]


def graph_by_hand(model: Double, saver: Any = None) -> Any:
    """A node for each step, joined by edges; a node that waits for several has one edge from all."""

    def node(step: str) -> Any:
        async def run(state: State, config: RunnableConfig) -> dict[str, Any]:
            known = [state["found"][need] for need in NEEDS[step]]
            asked = [SystemMessage(step), HumanMessage("\n".join([state["task"], *known]))]
            return {"found": {step: (await model.ainvoke(asked, config)).content}}

        return run

    builder: Any = StateGraph(State)
    for step, needs in NEEDS.items():
        builder.add_node(step, node(step))
        builder.add_edge(list(needs) if needs else START, step)
    builder.add_edge("verdict", END)
    return builder.compile(checkpointer=saver)


def flow() -> DAGFlow:
    units = [WorkflowUnit(step, prompt=step, output=str, answer="text") for step in NEEDS]
    return DAGFlow(None, units, dependencies=NEEDS)


def dag(part_s: float, repeats: int, *, saved: bool) -> Case:
    """Wall-clock time against the critical path; `part_s` seconds are the length of one part."""
    lasts = {step: part_s * parts for step, parts in PARTS.items()}
    model = Double(rule=rule, pause_s=lambda messages: lasts[str(messages[0].content)])

    async def by_hand() -> Any:
        if not saved:
            return (await graph_by_hand(model).ainvoke({"task": TASK, "found": {}}))["found"]
        with tempfile.TemporaryDirectory() as folder:
            async with AsyncSqliteSaver.from_conn_string(str(Path(folder) / "hand.db")) as saver:
                config: Any = {"configurable": {"thread_id": "t"}}
                given: Any = {"task": TASK, "found": {}}
                return (await graph_by_hand(model, saver).ainvoke(given, config, durability="sync"))["found"]

    memory = Workflow(flow(), model=model)

    async def with_plait() -> Any:
        if not saved:
            return _found(await memory.run(TASK))
        with tempfile.TemporaryDirectory() as folder:
            path = f"sqlite:///{Path(folder) / 'plait.db'}"
            return _found(await Workflow(flow(), model=model, checkpointer=path).run(TASK, thread_id="t"))

    return Case(
        f"DAG of 12 steps, {'SQLite' if saved else 'no saver'}",
        by_hand,
        with_plait,
        "wall",
        1.10 if saved else 1.03,
        floor=1000 * critical_path(NEEDS, lasts),
        repeats=repeats,
    )


def _found(result: Any) -> dict[str, str]:
    return {step.unit: step.output for step in result.steps}

"""What test files name by import path: functions, tools, types and objects at the top level of a module."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, ClassVar, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel

from plait import (
    Flow,
    MaxRounds,
    SharedState,
    Snapshot,
    ToolDefinition,
    ToolRegistry,
    WorkflowUnit,
    agent_adapter,
    step,
    tool,
)
from plait.core.flow import Visit
from plait.graphs.flow import Edge, FlowEnd, end_of
from plait.testing import ScriptedModel, text


class Verdict(BaseModel):
    score: int
    why: str = ""


@dataclass(frozen=True)
class Entry:
    item: str
    amount: Decimal


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Notes(TypedDict):
    notes: list[str]


def joined(old: list[str], new: list[str]) -> list[str]:
    return [*old, *new]


class Shared(BaseModel):
    notes: Annotated[list[str], joined] = []
    count: int = 0


def prompted(snapshot: Snapshot) -> str:
    return f"You see {snapshot.task}."


def entered(snapshot: Snapshot) -> Any:
    return snapshot.task


def written(output: Any) -> dict[str, Any]:
    return {"note": str(output)}


def chosen(output: Any) -> str:
    return str(output)


def items(snapshot: Snapshot) -> list[int]:
    return [1, 2]


def counted(snapshot: Snapshot) -> int:
    return len(snapshot.steps)


async def noted(snapshot: Snapshot) -> str:
    return "noted"


def holds(snapshot: Snapshot) -> bool:
    return True


def is_full(state: SharedState) -> bool:
    return state.get("note") is not None


def search(query: str) -> str:
    "Search the documents."
    return f"nothing about {query}"


@tool(effect="read")
def stock(item: str) -> int:
    "How many of an item are there."
    return 3


def paid(amount: int) -> str | None:
    return None


def pay(amount: int) -> str:
    "Pay an amount."
    return f"paid {amount}"


def looked_up(arguments: dict[str, Any]) -> str:
    return "found"


LOOK_UP = ToolDefinition("look_up", "Look something up.", {"type": "object", "properties": {}}, looked_up)
REGISTRY = ToolRegistry([LOOK_UP])


def tools_of(snapshot: Snapshot) -> list[Any]:
    return [search]


def handle(name: str, arguments: str) -> str:
    return f"{name} {arguments}"


def retried(error: Exception) -> bool:
    return True


def answered(question: str) -> str:
    return "an answer"


def model_of(snapshot: Snapshot) -> Any:
    return MODEL


MODEL = ScriptedModel(lambda request: text("hello"))
ADAPTER = agent_adapter(answered)
POLICY = MaxRounds(3)
CHAIN = RunnableLambda(answered)
PART = WorkflowUnit("imported", prompt="You are imported.")
NAMED = step(counted, id="named")


@dataclass(frozen=True)
class Once(Flow[Any, Any]):
    """A flow of one's own: its part once."""

    part: Any
    type: ClassVar[str] = "once"

    @property
    def parts(self) -> dict[str, Any]:
        return {"part": self.part}

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (Edge("__start__", "part"), Edge("part", "__end__"))

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        path = f"{snapshot.path}/part" if snapshot.path else "part"
        return () if snapshot.record(path) else (Visit("part", path, snapshot.inputs),)

    def end(self, snapshot: Snapshot) -> FlowEnd:
        record = snapshot.record(f"{snapshot.path}/part" if snapshot.path else "part")
        return FlowEnd() if record is None else end_of(record)


OWN = Once(PART)


def _graph() -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("say", lambda state: {"messages": ["hi"]})
    graph.add_edge(START, "say")
    graph.add_edge("say", END)
    return graph.compile()


GRAPH = _graph()

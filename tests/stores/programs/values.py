"""Awkward values through a checkpoint: `values.py URL write` keeps them, `values.py URL read` compares."""

import json
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from pydantic import BaseModel

from plait import Snapshot, ToolRuntime, Workflow, WorkflowUnit, step
from plait.testing import ScriptedModel, call

url, action = sys.argv[1:3]


class Shop:
    class Size(Enum):
        SMALL = "s"
        LARGE = "l"


@dataclass
class Ticket:
    number: int
    seen: list[str] = field(default_factory=list, init=False)


class Animal(BaseModel):
    name: str


class Dog(Animal):
    breed: str


class Kennel(BaseModel):
    guest: Animal


def ticket() -> Ticket:
    made = Ticket(7)
    made.seen.append("door")
    return made


VALUES: dict[str, Any] = {
    "decimal": Decimal("1.10"),
    "moment": datetime(2026, 11, 30, 12, 0, tzinfo=timezone(timedelta(hours=8))),
    "set": {"a", "b"},
    "tuple": (1, ("x", None)),
    "enum": Shop.Size.LARGE,
    "ticket": ticket(),
    "kennel": Kennel(guest=Dog(name="Rex", breed="Pug")),
    "fraction": Fraction(1, 3),
    "big": 2**70,
    "bytes": b"\x00\xff",
    "keys": {1: "one", (2, 3): "pair"},
    "inside": [{"deep": (Decimal("0.1"), {Shop.Size.SMALL})}],
}


def write(runtime: ToolRuntime) -> str:
    """Write every value into the shared state, of the workflow and of the session."""
    for key, value in VALUES.items():
        runtime.shared.set(key, value)
        runtime.shared.scope("session").set(key, value)
    return "written"


def ask(runtime: ToolRuntime) -> str:
    """Ask the user."""
    return str(runtime.ask("go on?"))


def differing(found: dict[str, Any]) -> list[str]:
    """The keys whose values did not come back the same, of the same types all through."""
    return [key for key, value in VALUES.items() if key not in found or not same(found[key], value)]


def same(one: Any, other: Any) -> bool:
    if type(one) is not type(other) or one != other or repr(type(one)) != repr(type(other)):
        return False
    if isinstance(one, BaseModel | Ticket):
        return all(same(vars(one)[name], vars(other)[name]) for name in vars(other))
    if isinstance(one, list | tuple):
        return all(map(same, one, other))
    if isinstance(one, dict):
        return all(same(one[key], other[key]) for key in other) and set(map(type, one)) == set(
            map(type, other)
        )
    return True


def compare(snapshot: Snapshot) -> dict[str, list[str]]:
    return {
        "state": differing(snapshot.state.snapshot()),
        "session": differing(snapshot.state.scope("session").snapshot()),
        "outputs": differing({path.removeprefix("of_"): output for path, output in snapshot.outputs.items()}),
    }


flow: Any = WorkflowUnit("writer", tools=[write])
for key, value in VALUES.items():
    flow = flow >> step(lambda _, value=value: value, id=f"of_{key}")
flow = flow >> WorkflowUnit("asker", tools=[ask]) >> step(compare)
script = {
    "writer": [call("write"), call("resolve", value="written")],
    "asker": [call("ask"), call("resolve", value="asked")],
}
workflow = Workflow(flow, model=ScriptedModel(script), checkpointer=url)
if action == "write":
    print(json.dumps({"outcome": workflow.run_sync("go", thread_id="t").outcome}))
else:
    result = workflow.resume_sync("t", "yes")
    again = {
        "result": differing(dict(result.state)),
        "steps": differing({s.unit[3:]: s.output for s in result.steps}),
    }
    print(json.dumps({**result.output, **again}))

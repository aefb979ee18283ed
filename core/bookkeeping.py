"""What flows keep account of, read from the records: the plan, what is done, and by whom.

It shows as the read-only state scope `flow:PATH` under the model's names: `plan`, `completedSteps`,
`aggregated`, `handler.KEY.done`, `orchestrator.finalized`. The root flow's path is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .paths import memory_key
from .records import StepRecord

Role = Literal["planner", "aggregator", "handler", "orchestrator"]
"""What a part is to the flow it stands in; most are nothing special."""

ROLE = "role"
FLOW_SCOPE = "flow:"


class Scopes(dict[str, Mapping[str, Any]]):
    """The state's scopes, with those of flows made when they are asked for."""

    def __init__(self, values: Mapping[str, Mapping[str, Any]], steps: Iterable[StepRecord]) -> None:
        super().__init__(values)
        self._steps = steps

    def get(self, scope: str, default: Any = None) -> Any:
        if scope.startswith(FLOW_SCOPE):
            return bookkeeping(scope.removeprefix(FLOW_SCOPE), self._steps)
        return super().get(scope, default)


def bookkeeping(flow: str, steps: Iterable[StepRecord]) -> dict[str, Any]:
    """The plain values that the flow at the path `flow` accounts for."""
    kept: dict[str, Any] = {}
    done: list[str] = []
    for record in steps:
        key = _key_in(flow, record)
        if key is None or not record.is_final:
            continue
        kept |= _role_of(record, key)
        if ROLE not in record.metadata and record.status in ("done", "partial"):
            done.append(key)
    return {**kept, "completedSteps": done} if kept or done else {}


def _role_of(record: StepRecord, key: str) -> dict[str, Any]:
    role, good = record.metadata.get(ROLE), record.status in ("done", "partial")
    if role == "planner":
        return {"plan": record.stored.plain} if good else {}
    if role == "handler":
        return {f"handler.{memory_key(key)}.done": good}
    names = {"aggregator": "aggregated", "orchestrator": "orchestrator.finalized"}
    return {names[role]: good} if role in names else {}


def _key_in(flow: str, record: StepRecord) -> str | None:
    """The record's place in the flow when it stands directly in it, else None."""
    prefix = f"{flow}/" if flow else ""
    key = record.path.removeprefix(prefix) if record.path.startswith(prefix) else ""
    return key if key and "/" not in key and not key.endswith("{}") and key[0] not in "[{" else None

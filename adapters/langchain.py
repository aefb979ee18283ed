"""Any LangChain runnable as a role: a chain, a prompt piped into a model, a retriever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.runnables import Runnable

from ..core.roles import Effect, RoleFn, ThreadContext
from ..core.snapshot import Snapshot
from ..nodes.labels import Labels
from ..nodes.outputs import typed
from ..nodes.schema import output_schema
from ..nodes.unit import WorkflowUnit
from .prompts import asked

T = TypeVar("T")
Enter = Callable[[Snapshot], Any]


@dataclass(frozen=True)
class RunnableRole:
    """Invokes the runnable once; callbacks, tags and metadata of the run pass through."""

    runnable: Runnable[Any, Any]
    unit: WorkflowUnit[Any]
    enter: Enter | None = None
    labels: Labels | None = None
    effect: Effect = "unsafe"

    async def __call__(self, context: ThreadContext) -> Any:
        """Raises RunError with reason `invalid-resolve` when what it returns is no output."""
        given = self.enter(context.snapshot) if self.enter else asked(self.unit, context.snapshot)
        return typed(output_schema(self.unit.output), await self.runnable.ainvoke(given), self.labels)


@dataclass(frozen=True)
class LangChainAdapter:
    """Made by `langchain_adapter`."""

    runnable: Runnable[Any, Any]
    enter: Enter | None

    def __call__(self, prompt: str, schema: type[T], /) -> RoleFn[T]:
        return self.for_unit(WorkflowUnit("role", prompt=prompt, output=schema))

    def for_unit(self, unit: WorkflowUnit[Any], labels: Labels | None = None) -> RunnableRole:
        return RunnableRole(self.runnable, unit, self.enter, labels)


def langchain_adapter(runnable: Runnable[Any, Any], *, enter: Enter | None = None) -> LangChainAdapter:
    """Execute roles by invoking `runnable` once.

    `enter` makes its input of the Snapshot (default: the prompt and the task as messages). What
    it returns must be the unit's output, or text or a message that holds it.
    """
    return LangChainAdapter(runnable, enter)

"""Thread: what a workflow knows of one thread, read from its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .core.ports import Question
from .graphs.result import RunResult

if TYPE_CHECKING:
    from .workflow import Workflow


class Thread:
    """A view of one thread. Every call reads anew, so it may live in any process."""

    def __init__(self, workflow: Workflow, thread_id: str) -> None:
        self._workflow = workflow
        self.id = thread_id

    async def result(self) -> RunResult:
        """The last turn's result as far as it is known; outcome `cancelled` when it broke off."""
        async with self._workflow.drive(self.id) as drive:
            return await drive.result()

    async def state(self, scope: str = "workflow") -> Mapping[str, Any]:
        """The shared state's keys and values in one scope, such as `session`."""
        async with self._workflow.drive(self.id) as drive:
            return await drive.shared(scope)

    async def interrupts(self) -> Sequence[Question]:
        """The open questions of a paused thread."""
        async with self._workflow.drive(self.id) as drive:
            return await drive.questions()

    async def history(self, limit: int | None = None) -> Sequence[Any]:
        """LangGraph's StateSnapshots of the thread, newest first."""
        async with self._workflow.drive(self.id) as drive:
            return await drive.history(limit)

    async def resume(self, *answers: Any, **options: Any) -> RunResult:
        """`workflow.resume` for this thread."""
        return await self._workflow.resume(self.id, *answers, **options)

    def __repr__(self) -> str:
        return f"Thread({self.id!r})"

"""Thread: what a workflow knows of one thread, read from its checkpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar, Generic
from uuid import uuid4

from .core.display import Displayed
from .core.events import Event
from .core.part import Out
from .core.ports import InboxItem, Question
from .graphs.compare import Comparison, compare
from .graphs.eventlog import follow
from .graphs.fork import fork
from .graphs.points import ThreadPoint, chosen, points_of
from .graphs.rerun import Rerun, rerun
from .graphs.result import RunResult
from .graphs.resume_plan import ResumePlan, resume_plan

if TYPE_CHECKING:
    from .workflow import Workflow


class Thread(Displayed, Generic[Out]):
    """A view of one thread. Every call reads anew, so it may live in any process."""

    _display: ClassVar[str] = "threads:thread_bundle"

    def __init__(self, workflow: Workflow[Out], thread_id: str) -> None:
        self._workflow = workflow
        self.id = thread_id

    async def result(self) -> RunResult[Out]:
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

    async def resume_plan(self) -> ResumePlan:
        """What `resume` would do: what is reused, what runs again, what is in doubt or incompatible.

        Raises NothingToResume.
        """
        async with self._workflow.drive(self.id) as drive:
            return await resume_plan(drive)

    async def history(self, limit: int | None = None) -> Sequence[ThreadPoint]:
        """The points at which the thread stood, newest first; `snapshot` of each is LangGraph's own."""
        async with self._workflow.drive(self.id) as drive:
            return await points_of(drive, limit)

    async def fork(
        self,
        at: ThreadPoint | str | int | None = None,
        *,
        state: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
    ) -> Thread[Out]:
        """Another thread that stands where this one stood, and leaves this one as it is.

        `at` is a point of `history` or its id, a part's path (just before it last ran), or a turn's number
        (its end); the newest point unless given. `state` are shared keys that are different there.
        `resume` or `run` goes on from it. Raises PlaitError when there is no such point, or the new thread
        exists.
        """
        made = Thread(self._workflow, thread_id or str(uuid4()))
        async with self._workflow.drive(self.id) as drive, self._workflow.drive(made.id) as new:
            await fork(drive, new, chosen(await points_of(drive), at, self.id), state)
        return made

    async def compare(self, other: Thread[Any] | str) -> Comparison:
        """This thread's last turn beside that of `other`, step by step."""
        theirs = self._workflow.thread(other) if isinstance(other, str) else other
        return compare(await self.result(), await theirs.result())

    async def rerun(
        self, path: str, *, prompt: Any = None, model: Any = None, task: Any = None, context: Any = None
    ) -> Rerun:
        """Run the unit at `path` again on exactly what it saw in the last turn, perhaps with another
        prompt, model or task; the record of both. Its tools run, but the thread keeps nothing of it."""
        changes = {name: value for name, value in (("prompt", prompt), ("model", model)) if value is not None}
        async with self._workflow.drive(self.id, context) as drive:
            return await rerun(drive, path, changes, task)

    async def events(
        self, *, path: str | None = None, types: Collection[str] | None = None, after: int | Event = 0
    ) -> AsyncIterator[Event]:
        """The events of the thread's latest run, live, from whatever process runs it.

        Only those of one path or of some types, if given, and only those after a sequence number, or
        after the event that a reader saw last: if that was of an earlier run, all of this one. The
        last event, the run's `agent_end`, is always among them; when the process that ran it is gone,
        it says so with outcome `cancelled`. `result` does not travel: ask for it. Pieces of a reply
        come some at a time, and only from the replies begun while somebody reads along. Raises
        PlaitError when nothing has run on the thread.
        """
        run_id, number = (after.run_id, after.sequence) if isinstance(after, Event) else (None, after)
        async with self._workflow.drive(self.id) as drive, aclosing(follow(drive.live, self.id)) as found:
            async for event in found:
                is_new = event.sequence > number or run_id not in (None, event.run_id)
                if event.is_last or (is_new and event.is_wanted(path, types)):
                    yield event

    async def steer(self, address: str, text: str) -> InboxItem:
        """`workflow.steer` for this thread."""
        return await self._workflow.steer(self.id, address, text)

    async def follow_up(self, address: str, text: str) -> InboxItem:
        """`workflow.follow_up` for this thread."""
        return await self._workflow.follow_up(self.id, address, text)

    async def cancel(self, *, timeout_s: float = 30.0) -> bool:
        """Have the thread's run stop now, in whatever process it is, and wait until it has; it can be
        resumed. False when none is under way. Raises PlaitError when it has not stopped in time.

        A run looks once a second whether it is asked to stop; one that waits for the thread and begins
        meanwhile is asked too.
        """
        return await self._workflow._engine.stop(self.id, "cancel", timeout_s)

    async def drain(self, *, timeout_s: float = 30.0) -> bool:
        """Like `cancel`, but what is under way is finished first; see `Run.drain`."""
        return await self._workflow._engine.stop(self.id, "drain", timeout_s)

    async def resume(self, *answers: Any, **options: Any) -> RunResult[Out]:
        """`workflow.resume` for this thread."""
        return await self._workflow.resume(self.id, *answers, **options)

    def __repr__(self) -> str:
        return f"Thread({self.id!r})"

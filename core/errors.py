"""Everything that can go wrong, as one tree.

PlaitError
├── DefinitionError      a flow or unit that cannot run; every fault at once
├── RunError             a run that ended badly; carries path, reason, result
│   └── StateConflict    two unordered steps wrote one key
├── ValueRefused         a value that would not survive a checkpoint unchanged
├── ClassChanged         a stored value whose class is missing or different now
├── EncryptionMismatch   stored data that the workflow's encryption key does not fit
├── DefinitionChanged    a thread resumed under a definition that changed what ran
├── ThreadPaused         new input for a thread that waits for an answer
├── ThreadBusy           a thread that another run is under way on
├── NothingToResume      a thread that has nothing left to do
└── MissingExtra         an optional package that is not installed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .display import Displayed

if TYPE_CHECKING:
    from .outcome import Reason


class PlaitError(Exception):
    """Root of every error that Plait raises."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a definition: where it is and what to do about it."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or '(root)'}: {self.message}"


class DefinitionError(PlaitError):
    """A definition that cannot run. Raised before anything runs, with all faults."""

    def __init__(self, faults: Sequence[Fault] | str) -> None:
        listed = (Fault("", faults),) if isinstance(faults, str) else tuple(faults)
        self.faults: tuple[Fault, ...] = listed
        super().__init__("\n".join(str(fault) for fault in listed))


class RunError(PlaitError, Displayed):
    """A run that failed: `path` says where, `reason` why, `result` what was kept."""

    _display: ClassVar[str] = "results:error_bundle"

    def __init__(self, message: str, *, path: str = "", reason: Reason = "error", result: Any = None) -> None:
        self.path = path
        self.reason: Reason = reason
        self.result = result
        super().__init__(f"{path}: {message}" if path else message)


class StateConflict(RunError):
    """Two steps that do not depend on each other wrote one key without a reducer."""

    def __init__(self, key: str, paths: Sequence[str]) -> None:
        self.key = key
        self.paths = tuple(paths)
        writers = " and ".join(self.paths)
        super().__init__(
            f"state key {key!r} is written by {writers}, which do not depend on each other; "
            f"declare a reducer for it, write different keys, or order the steps",
            reason="state-conflict",
        )


class ValueRefused(PlaitError):
    """A value that would not come back equal and of the same type from a checkpoint."""

    def __init__(self, key: str, value_type: type, why: str) -> None:
        self.key = key
        self.value_type = value_type
        name = f"{value_type.__module__}.{value_type.__qualname__}"
        super().__init__(f"{key}: a value of type {name} cannot be kept: {why}")


class ClassChanged(PlaitError):
    """A stored value names a class that is missing now or no longer fits its data."""

    def __init__(self, key: str, class_name: str, why: str) -> None:
        self.key = key
        self.class_name = class_name
        super().__init__(f"{key}: stored as {class_name}, {why}; restore the class or start a new thread")


class EncryptionMismatch(PlaitError):
    """What a thread keeps cannot be read with the workflow's `encryption_key`, or not without one."""

    def __init__(self, thread_id: str, why: str) -> None:
        self.thread_id = thread_id
        super().__init__(
            f"thread {thread_id!r}: what is stored for it {why}; it was left as it is: use the "
            f"encryption_key that the thread was begun with, restore its data, or start a new thread"
        )


class DefinitionChanged(PlaitError):
    """Parts that already ran are defined differently now, so the thread cannot go on."""

    def __init__(self, thread_id: str, paths: Sequence[str]) -> None:
        self.thread_id = thread_id
        self.paths = tuple(paths)
        super().__init__(
            f"thread {thread_id!r}: these parts ran under another definition: {', '.join(self.paths)}; "
            f"restore their definition, or start a new turn or thread"
        )


class ThreadPaused(PlaitError):
    """New input reached a thread that waits for an answer to its questions."""

    def __init__(self, thread_id: str, questions: Sequence[Any]) -> None:
        self.thread_id = thread_id
        self.questions = tuple(questions)
        super().__init__(
            f"thread {thread_id!r} is paused with {len(self.questions)} open question(s); "
            f"answer with resume(...), or pass abandon=True to start a new turn"
        )


class ThreadBusy(PlaitError):
    """Another run is under way on the thread, in this process or in another."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(
            f"thread {thread_id!r} is busy with another run; wait for it (queue=True), cancel it, "
            f"or use another thread"
        )


class DurabilityWarning(UserWarning):
    """A graph runs in a way in which a crash can cost what Plait promises to keep."""


class NothingToResume(PlaitError):
    """`resume` was called on a thread that does not exist or has ended well."""


class MissingExtra(PlaitError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed; install it with: pip install 'plait[{extra}]'")

"""What the command remembers of its threads: which FILE and store each belongs to.

A small file for each thread in the folder `.plait` below the current one, beside the database in which
threads are kept unless a workflow or `--store` says otherwise. So `plait resume THREAD` needs no more.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from langgraph.checkpoint.memory import InMemorySaver

from .guard import Usage
from .target import Target, is_target, load

FOLDER = ".plait"
RUNNING = "running"
LONGEST_TASK, LONGEST_NAME = 500, 180


@dataclass(frozen=True, slots=True)
class Remembered:
    """One thread. `store` is the URL that was given or chosen, None where the workflow has its own;
    `outcome` is `running` while the process `pid` runs it; times are seconds since the epoch."""

    thread: str
    file: str
    store: str | None
    task: str = ""
    outcome: str = RUNNING
    began_s: float = 0.0
    changed_s: float = 0.0
    pid: int = 0
    model: str | None = None

    @property
    def stands(self) -> str:
        """How it stands: a run whose process is gone broke off."""
        return "broke off" if self.outcome == RUNNING and not _is_alive(self.pid) else self.outcome


@dataclass(frozen=True, slots=True)
class Memory:
    """The folder in which threads are remembered."""

    folder: Path

    @classmethod
    def here(cls) -> Memory:
        return cls(Path.cwd() / FOLDER)

    @property
    def store(self) -> str:
        """The URL of the database in which threads are kept by default."""
        self._made()
        return f"sqlite:///{self.folder / 'threads.db'}"

    def put(self, kept: Remembered) -> None:
        """Remember a thread. The file is replaced as a whole, so that no reader sees half of it."""
        place = self._place(kept.thread)
        self._made()
        place.parent.mkdir(exist_ok=True)
        draft = place.with_name(f"{place.name}.{os.getpid()}")
        draft.write_text(json.dumps(asdict(kept), ensure_ascii=False), encoding="utf-8")
        os.replace(draft, place)

    def restore(self, kept: Remembered, before: Remembered | None) -> None:
        """Remember of a thread what was known `before`, if anything: its run was refused."""
        if before is None:
            self._place(kept.thread).unlink(missing_ok=True)
        else:
            self.put(before)

    def get(self, thread: str) -> Remembered | None:
        found = _read(self._place(thread))
        return found if found is not None and found.thread == thread else None

    def all(self) -> list[Remembered]:
        """Every thread, the one that changed last first."""
        found = [_read(path) for path in (self.folder / "threads").glob("*.json")]
        return sorted((one for one in found if one is not None), key=lambda one: -one.changed_s)

    def find(self, names: list[str]) -> tuple[Remembered, list[str]]:
        """The thread that the words `[FILE] THREAD …` name, and the words left over.

        Raises Usage when it is neither remembered nor beside its FILE.
        """
        if names and (known := self.get(names[0])) is not None:
            return known, names[1:]
        if names and (known := self._beginning(names[0])) is not None:
            return known, names[1:]
        if len(names) > 1 and is_target(names[0]):
            file, thread = names[:2]
            return self.get(thread) or Remembered(thread, file, None), names[2:]
        told = f"no thread {names[0]!r} is remembered in {self.folder}" if names else "name a thread"
        raise Usage(f"{told}; give its FILE before it, or see `plait threads`")

    def _beginning(self, text: str) -> Remembered | None:
        """The one thread whose name begins so. Raises Usage when there are several."""
        found = [one for one in self.all() if one.thread.startswith(text)] if text else []
        if len(found) > 1:
            raise Usage(f"{text!r} is the beginning of several threads; write more of the name")
        return found[0] if found else None

    def _made(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            ignore = self.folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
        except OSError as error:
            told = f"threads cannot be remembered in {self.folder}: {error.strerror or error}"
            raise Usage(f"{told}; run in a folder that you may write to") from error

    def _place(self, thread: str) -> Path:
        name = quote(thread, safe="")
        if len(name) > LONGEST_NAME:
            name = f"{name[:LONGEST_NAME]}-{sha256(thread.encode('utf-8', 'replace')).hexdigest()[:16]}"
        return self.folder / "threads" / f"{name}.json"


def opened(memory: Memory, file: str, *, model: str | None, store: str | None) -> tuple[Target, str | None]:
    """The workflow of FILE with a place for its threads: `store`, else its own, else the default one.

    Its own counts only if it outlives the process. Beside it the URL to remember, None for its own.
    """
    target = load(file, model=model)
    own = target.workflow._options["checkpointer"]
    if store is None and own not in (None, "memory") and not isinstance(own, InMemorySaver):
        return target, None
    url = store or memory.store
    return replace(target, workflow=target.workflow.replace(checkpointer=url)), url


def reopened(memory: Memory, kept: Remembered, *, model: str | None, store: str | None) -> Target:
    """The workflow of a thread that is remembered."""
    target, _ = opened(memory, kept.file, model=model or kept.model, store=store or kept.store)
    return target


def begun(thread: str, file: str, store: str | None, task: Any, model: str | None) -> Remembered:
    now = time.time()
    told = task if isinstance(task, str) else ""
    return Remembered(
        thread, file, store, told[:LONGEST_TASK], began_s=now, changed_s=now, pid=os.getpid(), model=model
    )


def now_at(kept: Remembered, outcome: str) -> Remembered:
    """The same thread, which has come to stand otherwise."""
    return replace(kept, outcome=outcome, changed_s=time.time(), pid=os.getpid())


def _read(path: Path) -> Remembered | None:
    """What a file remembers; None where it is none of ours."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return Remembered(**{one.name: plain[one.name] for one in fields(Remembered) if one.name in plain})
    except (OSError, ValueError, TypeError):
        return None


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

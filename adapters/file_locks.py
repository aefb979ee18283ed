"""File locks beside a SQLite file: one small file for each thread that is held, removed when it is let go.

The system drops a file lock with the process that holds it. A file may stand for a thread only
while somebody holds it, so whoever locks one looks whether it still stands in its place; what killed
processes left is swept up.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock

from .guarded import failed
from .locks import key_of, lost

STALE_S = 60.0
"""Files older than this are tried for, and removed when nobody holds them."""

TRIES_S = (0.02, 0.05, 0.1)
"""Pauses before a file counts as held: looking whether one is held locks it for a moment too."""

if sys.platform == "win32":
    import msvcrt

    def _locks(fd: int, *, shared: bool = False) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _locks(fd: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class _Descriptors:
    """The locked descriptors of this process; a forked child closes them, or it would keep the locks."""

    def __init__(self) -> None:
        self._held: set[int] = set()
        self._guard = Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._guard.acquire,
                after_in_parent=self._guard.release,
                after_in_child=self._left_behind,
            )

    def lock(self, path: Path) -> int | None:
        """A descriptor of the file at `path`, locked; None when another holds it."""
        with self._guard:
            while True:
                with suppress(FileExistsError):  # also raised where it was swept away a moment later
                    path.parent.mkdir(parents=True)
                try:
                    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
                except FileNotFoundError:  # its folder was swept away this moment
                    continue
                if not _locks(fd):
                    os.close(fd)
                    return None
                if _stands(fd, path):
                    self._held.add(fd)
                    return fd
                os.close(fd)

    def is_held(self, fd: int) -> bool:
        return fd in self._held

    def drop(self, fd: int, path: Path) -> None:
        """Remove the file and let go of it; no more than that where it is another process's."""
        with self._guard:
            if fd not in self._held:
                return
            self._held.discard(fd)
            if sys.platform != "win32":
                path.unlink(missing_ok=True)
            os.close(fd)
            with suppress(OSError):
                if sys.platform == "win32":  # an open file cannot be removed there
                    path.unlink(missing_ok=True)
                path.parent.rmdir()

    def _left_behind(self) -> None:
        for fd in self._held:
            os.close(fd)
        self._held.clear()
        self._guard.release()


def _stands(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


_descriptors = _Descriptors()


class FileLocks:
    """The locks of the threads in one SQLite file, as files in a folder beside it."""

    def __init__(self, database: str) -> None:
        self._folder = Path(f"{os.path.realpath(database)}-locks")
        self._held: dict[str, tuple[int, Path]] = {}
        self._swept = False

    async def take(self, thread_id: str) -> bool:
        """Hold the thread, if nobody does. Raises RunError with reason `store` where files have no locks."""
        self._sweep()
        path = self._path(thread_id)
        for pause_s in (*TRIES_S, None):
            try:
                fd = _descriptors.lock(path)
            except OSError as error:
                raise failed(f"locking thread {thread_id!r}", error) from error
            if fd is not None:
                self._held[thread_id] = fd, path
                return True
            if pause_s is not None:
                await asyncio.sleep(pause_s)
        return False

    async def give(self, thread_id: str) -> None:
        if (held := self._held.pop(thread_id, None)) is not None:
            _descriptors.drop(*held)

    async def check(self, thread_id: str) -> None:
        held = self._held.get(thread_id)
        if held is not None and not (_descriptors.is_held(held[0]) and _stands(*held)):
            raise lost(thread_id)

    async def is_taken(self, thread_id: str) -> bool:
        return _is_locked(self._path(thread_id))

    def _path(self, thread_id: str) -> Path:
        return self._folder / key_of(thread_id, 16).hex()

    def _sweep(self) -> None:
        """Remove what killed processes left, once."""
        if self._swept:
            return
        self._swept, recent = True, time.time() - STALE_S
        for name in _names(self._folder):
            path = self._folder / name
            with suppress(OSError):
                if path.stat().st_mtime < recent and (fd := _descriptors.lock(path)) is not None:
                    _descriptors.drop(fd, path)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _is_locked(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _locks(fd, shared=True)
    finally:
        os.close(fd)

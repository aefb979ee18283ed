"""Two model servers that others wrote, behind one small interface: scripted by unit, read back by request."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from llmock.scenarios import Reply, ToolCall, ToolFault

from .support import Body

ROOT = Path(__file__).parents[2]
INSTALLED = Path(os.environ.get("PLAIT_AIMOCK") or ROOT / "build" / "aimock")
COMMAND = INSTALLED / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
OLDEST_NODE = (20, 15)

BROKEN = '{"q": "x"'
"""Arguments that break off."""


@dataclass(frozen=True)
class Said:
    """What a model says: text, or calls by name and arguments; `broken` cuts the arguments short."""

    text: str | None = None
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    broken: bool = False


def says(*calls: tuple[str, dict[str, Any]], text: str | None = None, broken: bool = False) -> Said:
    return Said(text, calls, broken)


class Server(Protocol):
    @property
    def base_url(self) -> str: ...

    def script(self, unit: str, *said: Said) -> None:
        """What is said, round by round, to requests whose system message holds `unit`."""

    @property
    def bodies(self) -> list[Body]:
        """Every request, in order."""


class Llmock:
    """llmock keeps one queue, so that units must be scripted in the order in which they run."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    @property
    def base_url(self) -> str:
        return str(self._handle.base_url("openai"))

    def script(self, unit: str, *said: Said) -> None:
        for one in said:
            calls = tuple(ToolCall(name, args) for name, args in one.calls)
            self._handle.add(Reply(one.text, calls))
            if one.broken:
                self._handle.add(ToolFault("malformed_arguments"))

    @property
    def bodies(self) -> list[Body]:
        return [request.body for request in self._handle.requests]


class Aimock:
    """aimock picks a reply by the system message and by how many replies the request holds already.

    Its control interface takes no broken arguments, its files do: such a script has a process of its own.
    """

    def __init__(self, url: str, folder: Path, processes: ExitStack) -> None:
        self._url, self._folder, self._processes = url, folder, processes
        self._asked("POST", "/reset")

    @property
    def base_url(self) -> str:
        return f"{self._url}/v1"

    def script(self, unit: str, *said: Said) -> None:
        fixtures = [
            {"match": {"systemMessage": unit, "turnIndex": turn}, "response": _response(one, turn)}
            for turn, one in enumerate(said)
        ]
        if any(one.broken for one in said):
            self._url = self._processes.enter_context(running_aimock(self._folder, fixtures))
        else:
            self._asked("POST", "/fixtures", {"fixtures": fixtures})

    @property
    def bodies(self) -> list[Body]:
        return [entry["body"] for entry in self._asked("GET", "/journal")]

    def _asked(self, method: str, path: str, given: Any = None) -> Any:
        data = None if given is None else json.dumps(given).encode()
        request = urllib.request.Request(f"{self._url}/__aimock{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)


def _response(said: Said, turn: int) -> Body:
    calls = [
        {"name": name, "arguments": BROKEN if said.broken else json.dumps(args), "id": f"call_{turn}_{n}"}
        for n, (name, args) in enumerate(said.calls)
    ]
    found = {"content": said.text, "toolCalls": calls}
    return {key: value for key, value in found.items() if value}


@cache
def why_no_aimock() -> str | None:
    """Why aimock cannot run here, None when it can."""
    node = shutil.which("node")
    if node is None:
        return "aimock needs Node 20, and there is no node on the PATH"
    told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20).stdout
    version = tuple(map(int, re.findall(r"\d+", told)[:2]))
    if version < OLDEST_NODE:
        return f"aimock needs Node 20.15 or newer, and this is {told.strip() or 'unknown'}"
    return None if COMMAND.exists() else f"aimock is not installed in {INSTALLED}: run `make aimock`"


@contextmanager
def running_aimock(folder: Path, fixtures: Sequence[Body]) -> Iterator[str]:
    """The address of an aimock process that ends with the block. Strict mode wants a fixture at least."""
    script, log = folder / "script.json", folder / "log"
    script.write_text(json.dumps({"fixtures": fixtures}))
    command = ["node", str(COMMAND), "-p", "0", "-h", "127.0.0.1", "-f", str(script), "--strict"]
    settings = {**os.environ, "AIMOCK_STRICT_TURN_INDEX": "1"}
    with (
        open(log, "w") as told,
        subprocess.Popen(command, env=settings, stdout=told, stderr=subprocess.STDOUT) as process,
    ):
        try:
            yield _address(process, log)
        finally:
            process.kill()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < until:
        if found := re.search(r"listening on (http://\S+)", log.read_text()):
            return found[1]
        time.sleep(0.02)
    raise AssertionError(f"aimock did not start: {log.read_text()}")

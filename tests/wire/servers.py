"""Two model servers that others wrote, behind one small interface: scripted by unit, read back by request."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    base_url: str

    def script(self, unit: str, *said: Said) -> None:
        """What is said, round by round, to requests whose system message holds `unit`."""

    @property
    def bodies(self) -> list[Body]:
        """Every request, in order."""


class Llmock:
    """llmock keeps one queue, so that units must be scripted in the order in which they run."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.base_url = handle.base_url("openai")

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
    """aimock picks a reply by the system message and by how many replies the request holds already."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.base_url = f"{url}/v1"
        self._asked("POST", "/reset")

    def script(self, unit: str, *said: Said) -> None:
        fixtures = [
            {"match": {"systemMessage": unit, "turnIndex": turn}, "response": _response(one, f"{unit}{turn}")}
            for turn, one in enumerate(said)
        ]
        self._asked("POST", "/fixtures", {"fixtures": fixtures})

    @property
    def bodies(self) -> list[Body]:
        return [entry["body"] for entry in self._asked("GET", "/journal")]

    def _asked(self, method: str, path: str, given: Any = None) -> Any:
        data = None if given is None else json.dumps(given).encode()
        request = urllib.request.Request(f"{self._url}/__aimock{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)


def _response(said: Said, mark: str) -> Body:
    calls = [
        {"name": name, "arguments": BROKEN if said.broken else json.dumps(args), "id": f"call_{mark}_{n}"}
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
def running_aimock(folder: Path) -> Iterator[str]:
    """The address of an aimock process that ends with the block."""
    (folder / "none.json").write_text('{"fixtures": []}')
    command = ["node", str(COMMAND), "-p", "0", "-h", "127.0.0.1", "-f", str(folder), "--strict"]
    settings = {**os.environ, "AIMOCK_STRICT_TURN_INDEX": "1"}
    with (
        open(folder / "log", "w+") as log,
        subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            yield _address(process, folder / "log")
        finally:
            process.kill()


def _address(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"listening on (http://\S+)", line):
            return found[1]
    raise AssertionError(f"aimock did not start: {log.read_text()}")

"""LangGraph's own server on every example, started once, with no key and nothing of this environment."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client

from plait.examples.code_review import DEMO_REPOSITORY, unpack

ROOT = Path(__file__).parents[2]
SLOW = Path(__file__).parent / "programs" / "slow.py"
SERVED = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
KEPT = ("PATH", "SYSTEMROOT", "PYTHONPATH", "TEMP", "TMP")
"""What a clean machine has too."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the server runs: a small project, and the repository of the reviewed change."""
    made = tmp_path_factory.mktemp("server")
    slow = {f"slow_{name}": f"{SLOW}:{name}" for name in SERVED}
    (made / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": {**SERVED, **slow}}))
    (made / "README.md").write_text("# A project\nThe tests run with `make test`.\n")
    unpack(DEMO_REPOSITORY.read_text(encoding="utf-8"), made / "shop-main")
    (made / "home").mkdir()
    return made


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[str]:
    """The URL of `langgraph dev`."""
    pytest.importorskip(
        "langgraph_api", reason="langgraph-cli[inmem] is not installed; `make test` installs it"
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    command += ["--host", "127.0.0.1", "--port", port, "--n-jobs-per-worker", "10"]
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env |= {
        "HOME": str(folder / "home"),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "CI": "1",
    }
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=env)
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_until_up(url, process, folder / "log")
            yield url
        finally:
            process.terminate()
            process.wait(20)


def _wait_until_up(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            if httpx.get(f"{url}/ok", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])


@pytest.fixture
async def client(server: str) -> AsyncIterator[Any]:
    async with get_client(url=server) as made:
        yield made


@pytest.fixture
def contexts(folder: Path, tmp_path: Path) -> dict[str, dict[str, str]]:
    """What is given to an example beside its input, by its name."""
    books = {"ledger": str(tmp_path / "ledger.db"), "today": "2026-11-30"}
    return {"accounting": books, "code_review": {"root": str(folder / "shop-main")}}

"""A client of LangGraph's own server steers a unit through the server's store."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.base.id import uuid6
from langgraph_sdk import get_client

from plait.nodes.inbox import inbox_namespace

from .conftest import PROGRAMS, wait_for

pytest.importorskip("langgraph_api", reason="langgraph-cli[inmem] is not installed; `make test` installs it")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """The URL of `langgraph dev` in a folder of its own, and its process."""
    graphs = {"dependencies": ["."], "graphs": {"steered": f"{PROGRAMS}/served.py:graph"}}
    (tmp_path / "langgraph.json").write_text(json.dumps(graphs))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", port],
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            env=os.environ | {"CI": "1"},
        )
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_until_up(url, process, tmp_path / "log")
            yield url, process
        finally:
            process.terminate()
            process.wait(10)


def _wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            if httpx.get(f"{url}/ok").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(log.read_text()[-2000:])


async def test_a_client_steers_through_the_servers_store(server: Any, tmp_path: Path) -> None:
    url, process = server
    async with get_client(url=url) as client:
        thread = (await client.threads.create())["thread_id"]
        run = await client.runs.create(thread, "steered", input={"task": "Go."})
        wait_for(tmp_path / "waiting", process)
        for kind, text in (("steer", "in EUR"), ("follow_up", "and in French")):
            told = {"address": "u", "text": text, "kind": kind}
            await client.store.put_item(inbox_namespace(thread), str(uuid6()), told)
        (tmp_path / "go").touch()
        await client.runs.join(thread, run["run_id"])
        values = (await client.threads.get_state(thread))["values"]

    said = [message["content"] for message in values["transcripts"]["u"]]
    assert said[-6:] == ["in EUR", "", "accepted", "and in French", "", "accepted"]
    assert said[-7] == "worked 3"
    assert [message["type"] for message in values["bus"]] == ["steering", "followup", "unit-output"]

"""A ten-turn chat through LangGraph's own server, which is what Studio talks to."""

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

pytest.importorskip("langgraph_api", reason="langgraph-cli[inmem] is not installed; `make test` installs it")

ROOT = Path(__file__).parents[2]
TURNS = [
    "remember: the key is under the mat",
    *(f"message {n}" for n in range(2, 10)),
    "what did I tell you?",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, unused_port: int) -> Iterator[str]:
    """`langgraph dev` in a folder of its own, so that it leaves nothing in the checkout."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "langgraph.json").write_text((ROOT / "langgraph.json").read_text())
    command = [
        sys.executable,
        "-m",
        "langgraph_cli",
        "dev",
        "--no-browser",
        "--no-reload",
        "--host",
        "127.0.0.1",
    ]
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [*command, "--port", str(unused_port)],
        cwd=folder,
        stdout=log,
        stderr=log,
        env=os.environ | {"CI": "1"},
    )
    url = f"http://127.0.0.1:{unused_port}"
    try:
        _wait_for(url, process, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(10)
        log.close()


@pytest.fixture(scope="module")
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
async def client(server: str) -> AsyncIterator[Any]:
    async with get_client(url=server) as made:
        yield made


def _wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(300):
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            if httpx.get(f"{url}/ok").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(log.read_text()[-2000:])


async def test_ten_turns_with_messages_as_input(client: Any) -> None:
    thread = await client.threads.create()
    answers = []
    for said in TURNS:
        given = {"messages": [{"role": "user", "content": said}]}
        values = await client.runs.wait(thread["thread_id"], "chat", input=given)
        answers.append(values["output"])
    assert values["outcome"] == "done"
    assert len(values["messages"]) == 2 * len(TURNS)
    assert "the key is under the mat" in answers[-1]


async def test_a_task_streams_its_steps(client: Any, tmp_path: Path) -> None:
    thread = await client.threads.create()
    parts = client.runs.stream(
        thread["thread_id"],
        "accounting",
        input={"task": "午饭 32"},
        stream_mode="updates",
        context={"ledger": str(tmp_path / "ledger.db")},
    )
    nodes = [name async for part in parts if part.event == "updates" for name in part.data]
    assert nodes == ["_enter", "classify", "record", "_exit"]


async def test_the_server_knows_the_graph_and_its_schemas(client: Any) -> None:
    assistant = (await client.assistants.search(graph_id="accounting"))[0]["assistant_id"]
    schemas = await client.assistants.get_schemas(assistant)
    assert {"task", "messages", "state"} <= set(schemas["input_schema"]["properties"])
    drawn = await client.assistants.get_graph(assistant, xray=True)
    assert {"record:think", "record:act"} <= {str(node["id"]) for node in drawn["nodes"]}

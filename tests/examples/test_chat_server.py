"""The chat server over real HTTP: two users at once, a server that is killed, lost connections."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

MESSAGES = (
    (Path(__file__).parents[2] / "examples" / "data" / "chat.txt").read_text(encoding="utf-8").splitlines()
)


class Server:
    """The server in a process of its own, on a port and a database that it keeps when it starts again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self, delay_s: float = 0.0) -> None:
        module = [sys.executable, "-W", "error::ResourceWarning", "-m", "plait.examples.chat_server"]
        options = [
            "--port",
            str(self.port),
            "--checkpointer",
            f"sqlite:///{self._folder}/chat.db",
            "--delay",
            str(delay_s),
        ]
        self._process = subprocess.Popen([*module, *options], stdout=subprocess.DEVNULL)  # noqa: ASYNC220
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(600):
                try:
                    await client.get(f"{self.url}/users/nobody/events")
                    return
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
        raise TimeoutError("the server did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.kill()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False) as made:
        yield made


async def events_of(response: httpx.Response) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Server-sent events, each as its id and its data."""
    number = 0
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "id":
            number = int(value)
        elif name == "data":
            yield number, json.loads(value)


async def send(
    client: httpx.AsyncClient, user: str, text: str, message_id: str
) -> list[tuple[int, dict[str, Any]]]:
    body = {"text": text, "id": message_id}
    async with client.stream("POST", f"/users/{user}/messages", json=body) as response:
        assert response.status_code == 200
        return [event async for event in events_of(response)]


async def history(client: httpx.AsyncClient, user: str) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = (await client.get(f"/users/{user}/history")).json()
    return said


async def until_taken(client: httpx.AsyncClient, user: str, text: str, message_id: str) -> str:
    """Send a message again until its turn has ended, as a client does that loses the server."""
    for _ in range(200):
        try:
            events = await send(client, user, text, message_id)
            if events and events[-1][1].get("outcome") == "done":
                return str(events[-1][1]["output"])
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.1)
    raise TimeoutError(f"{text} was never answered")


async def ten_turns(client: httpx.AsyncClient, user: str) -> list[str]:
    return [
        await until_taken(client, user, f"{message} ({user})", f"{user}-{number}")
        for number, message in enumerate(MESSAGES, start=1)
    ]


async def test_ten_turns_of_two_users_survive_a_server_that_is_killed(
    server: Server, client: httpx.AsyncClient
) -> None:
    assert len(MESSAGES) == 10
    await server.start(delay_s=0.15)
    chats = [asyncio.create_task(ten_turns(client, user)) for user in ("ann", "bo")]
    for _ in range(2):
        await asyncio.sleep(1.2)
        server.kill()
        await server.start(delay_s=0.15)
    answers = await asyncio.gather(*chats)
    for user, given in zip(("ann", "bo"), answers, strict=True):
        said = await history(client, user)
        assert [message["role"] for message in said] == ["human", "ai"] * 10
        assert [message["text"] for message in said[::2]] == [f"{message} ({user})" for message in MESSAGES]
        assert [message["text"] for message in said[1::2]] == given
        kept = [
            f"{words} ({user})"
            for words in ("the meeting is on Tuesday.", "午饭 32 元", "Mei likes green tea.")
        ]
        assert given[7] == "You told me:\n" + "\n".join(kept)
        assert "message 10 of our chat" in given[9]


async def test_a_lost_connection_goes_on_with_exactly_the_missing_events(
    server: Server, client: httpx.AsyncClient
) -> None:
    await server.start(delay_s=0.4)
    seen: list[tuple[int, dict[str, Any]]] = []
    async with client.stream("POST", "/users/ann/messages", json={"text": "Hello!", "id": "1"}) as response:
        async for event in events_of(response):
            seen.append(event)
            if event[1]["path"] == "talk" and event[1]["type"] == "message_start":
                break
    async with client.stream("GET", f"/users/ann/events?after={seen[-1][0]}") as response:
        missing = [event async for event in events_of(response)]
    async with client.stream(
        "GET", "/users/ann/events", headers={"Last-Event-ID": str(seen[-1][0])}
    ) as response:
        assert [event async for event in events_of(response)] == missing
    assert [number for number, _ in seen + missing] == list(range(1, len(seen) + len(missing) + 1))
    assert missing[-1][1]["output"] == "You said “Hello!”, which is message 1 of our chat."
    written = "".join(event.get("delta", "") for _, event in missing if event["path"] == "talk")
    assert written == missing[-1][1]["output"]


async def test_one_message_at_a_time_and_the_same_one_only_once(
    server: Server, client: httpx.AsyncClient
) -> None:
    await server.start(delay_s=0.4)
    first = asyncio.create_task(send(client, "ann", "Hello!", "1"))
    await asyncio.sleep(0.2)
    busy = await client.post("/users/ann/messages", json={"text": "And?", "id": "2"})
    again = await send(client, "ann", "Hello!", "1")
    assert busy.status_code == 409
    assert again == await first
    assert len(await history(client, "ann")) == 2
    assert (await client.get("/users/bo/events")).status_code == 204
    assert await history(client, "bo") == []


async def test_a_message_of_a_former_process_gives_its_result(
    server: Server, client: httpx.AsyncClient
) -> None:
    await server.start()
    first = await send(client, "ann", "Hello!", "1")
    server.kill()
    await server.start()
    ((_, ended),) = await send(client, "ann", "Hello!", "1")
    assert (ended["outcome"], ended["output"]) == ("done", first[-1][1]["output"])
    assert len(await history(client, "ann")) == 2


def test_the_chat_runs_ten_turns_from_a_file_on_the_scripted_model() -> None:
    command = [sys.executable, "-W", "error", "-m", "plait.examples.chat", "--demo"]
    ended = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("> ") == 10
    assert ended.stdout.count("\n< ") == 10
    assert "You told me:\nthe meeting is on Tuesday.\n午饭 32 元\nMei likes green tea." in ended.stdout

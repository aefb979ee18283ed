"""Servers on the loopback, and real clients for them that are closed when the test ends."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient

from .servers import Aimock, Llmock, Server, running_aimock, why_no_aimock
from .support import ReplayServer


@pytest.fixture
async def chat() -> AsyncIterator[Callable[..., ChatOpenAI]]:
    """Makes chat models, each with a client of this test's event loop."""
    async with AsyncExitStack() as clients:

        def make(base_url: str, **options: Any) -> ChatOpenAI:
            client: Any = DefaultAsyncHttpxClient()
            clients.push_async_callback(client.aclose)
            settings = {"model": "m", "api_key": "none", "max_retries": 0, **options}
            return ChatOpenAI(base_url=base_url, http_async_client=client, **settings)

        yield make


@pytest.fixture(scope="session")
def replay_server() -> Iterator[ReplayServer]:
    with ReplayServer() as server:
        yield server


@pytest.fixture
def wire(replay_server: ReplayServer) -> Iterator[ReplayServer]:
    """A server with a script of its own; a test that leaves answers over, or lacks some, fails."""
    replay_server.reset()
    yield replay_server
    assert not replay_server.left, f"{len(replay_server.left)} scripted answers were never asked for"
    assert not replay_server.surplus, f"{replay_server.surplus} requests too many"


@pytest.fixture(params=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    """Whether the run is watched, and so its replies are streamed."""
    return bool(request.param == "streamed")


@pytest.fixture(scope="session")
def aimock_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if reason := why_no_aimock():
        pytest.skip(reason)
    unused = {"match": {"userMessage": "never sent"}, "response": {"content": "-"}}
    with running_aimock(tmp_path_factory.mktemp("aimock"), [unused]) as url:
        yield url


@pytest.fixture(params=["llmock", "aimock"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A model server written by others; two of them, so that neither's habits are taken for the wire's."""
    if request.param == "llmock":
        yield Llmock(request.getfixturevalue("llmock"))
        return
    with ExitStack() as processes:
        yield Aimock(request.getfixturevalue("aimock_url"), tmp_path, processes)

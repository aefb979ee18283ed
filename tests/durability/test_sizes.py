"""What a long run costs in SQLite: bytes grow linearly with its rounds, whatever the shared state holds."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from plait import LoopFlow, Snapshot, Workflow, WorkflowUnit, step
from plait.testing import Request, ScriptedModel, call

CHARACTERS = 200


def never(snapshot: Snapshot) -> bool:
    return False


def look(text: str) -> str:
    """Look something up."""
    return text


unit = WorkflowUnit("long", prompt="Look.", tools=[look], max_rounds=201)


def model(rounds: int) -> ScriptedModel:
    def reply(request: Request) -> Any:
        if request.replies == rounds:
            return call("resolve", value="done")
        return [call("look", text=side * CHARACTERS) for side in "ab"]

    return ScriptedModel(reply)


async def size_after(rounds: int, folder: Path, state_characters: int = 0) -> int:
    path = folder / f"{rounds}.db"
    workflow = Workflow(unit, model=model(rounds), checkpointer=f"sqlite:///{path}")
    result = await workflow.run("go", thread_id="t", state={"big": "x" * state_characters})
    assert len(result.steps[0].tool_calls) == 2 * rounds
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.stat().st_size


@pytest.fixture(params=[0, 20_000], ids=["no state", "20 kB of state"])
def state_characters(request: pytest.FixtureRequest) -> int:
    return int(request.param)


async def test_two_hundred_rounds_grow_linearly_and_stay_small(tmp_path: Path, state_characters: int) -> None:
    sizes = [await size_after(rounds, tmp_path, state_characters) for rounds in (50, 100, 200)]
    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    assert sizes[2] < 2_500_000, sizes
    assert second < 2 * first * 1.2, sizes


async def test_shared_state_is_not_written_again_with_every_round(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    without = await size_after(50, small), await size_after(50, large, 20_000)
    assert without[1] - without[0] < 300_000


async def test_a_loop_grows_linearly_with_its_passes(tmp_path: Path) -> None:
    async def size(passes: int) -> int:
        path = tmp_path / f"{passes}.db"
        loop = LoopFlow(
            step(lambda snapshot: "x" * CHARACTERS, id="once"), max_iterations=passes, until=never
        )
        result = await Workflow(loop, checkpointer=f"sqlite:///{path}").run("go", thread_id="t")
        assert len(result.steps) == passes
        return path.stat().st_size

    sizes = [await size(passes) for passes in (25, 50, 100)]
    assert sizes[2] - sizes[1] < 2 * (sizes[1] - sizes[0]) * 1.2, sizes

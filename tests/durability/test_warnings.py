"""What a graph does not promise is said: without a journal, and without `durability="sync"`."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore

from plait import DurabilityWarning, Workflow, WorkflowUnit, tool
from plait.testing import ScriptedModel, call


def pay() -> str:
    """Pay."""
    return "paid"


def workflow(made: Any) -> Workflow[str]:
    return Workflow(
        WorkflowUnit("u", tools=[made]), model=ScriptedModel([call("pay"), call("resolve", value="x")])
    )


async def test_a_lasting_saver_without_a_store(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(f"{tmp_path}/runs.db") as saver:
        with pytest.warns(DurabilityWarning, match="u: pay may happen twice after a crash"):
            workflow(pay).compile(checkpointer=saver)
        workflow(tool(pay, effect="idempotent")).compile(checkpointer=saver)
        workflow(pay).compile(checkpointer=saver, store=InMemoryStore())


async def test_other_durability_modes(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(f"{tmp_path}/runs.db") as saver:
        for number, options in enumerate(({}, {"durability": "async"}, {"durability": "exit"})):
            graph = workflow(pay).compile(checkpointer=saver, store=InMemoryStore())
            config: Any = {"configurable": {"thread_id": str(number)}}
            with pytest.warns(DurabilityWarning, match="runs without durability='sync'"):
                await graph.ainvoke({"task": "go"}, config, **options)
        graph = workflow(pay).compile(checkpointer=saver, store=InMemoryStore())
        config = {"configurable": {"thread_id": "sync"}}
        assert (await graph.ainvoke({"task": "go"}, config, durability="sync"))["output"] == "x"

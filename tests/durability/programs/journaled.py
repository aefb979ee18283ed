"""A plain LangGraph agent with a ToolNode, whose process dies in the middle of its tools, once."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph.types import Command

from plait import journaled, tool

folder, shape, way, journal, answers = Path(sys.argv[1]), *sys.argv[2:5], json.loads(sys.argv[5])
log, killed = folder / "effects.log", folder / "killed"


def effect(name: str) -> str:
    """Do something."""
    with log.open("a") as file:
        file.write(f"{name}\n")
    if name.startswith("deadly") and not (folder / name).exists():
        time.sleep(0.3)
        (folder / name).touch()
        if not name.endswith("waits"):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(5)
    return f"did {name}"


def was_done(name: str) -> str | None:
    """What is known of it."""
    return f"found {name}" if name in log.read_text().split() else None


probed = tool(effect, probe=was_done)
names = {
    "one": ["deadly"],
    "two": ["quick", "deadly"],
    "doubts": ["deadly-waits", "deadly"],
    "probe": ["deadly"],
}
url = f"sqlite:///{folder}/runs.db" if journal == "url" else None
tools = journaled([probed if shape == "probe" else effect], journal=url)


async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    return reply(state)


def reply(state: MessagesState) -> dict[str, Any]:
    if state["messages"][-1].type == "tool":
        return {"messages": [AIMessage("all done")]}
    calls: Any = [{"name": "effect", "args": {"name": n}, "id": f"call_{n}"} for n in names[shape]]
    return {"messages": [AIMessage("", tool_calls=calls)]}


def after(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].type == "ai" and state["messages"][-1].tool_calls else END  # type: ignore[union-attr]


builder: Any = StateGraph(MessagesState)
builder.add_node("agent", agent if way == "async" else reply)
builder.add_node("tools", ToolNode(tools))
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", after, ["tools", END])
builder.add_edge("tools", "agent")
config: Any = {"configurable": {"thread_id": "t"}}
begun = (folder / "begun").exists()
(folder / "begun").touch()
given: list[Any] = [None] if begun else [{"messages": [("user", "go")]}]
given += [Command(resume=answer) for answer in answers]


def told(values: Any) -> dict[str, Any]:
    asked = [i.value["question"]["args"]["name"] for i in values.get("__interrupt__", ())]
    said = [m.content for m in values["messages"] if m.type == "tool"]
    return {"asked": asked, "said": said, "last": values["messages"][-1].content}


async def run() -> Any:
    path = f"{folder}/runs.db"
    async with (
        AsyncSqliteSaver.from_conn_string(path) as saver,
        AsyncSqliteStore.from_conn_string(path) as store,
    ):
        await store.setup()
        graph = builder.compile(checkpointer=saver, store=store if journal == "store" else None)
        return [told(await graph.ainvoke(one, config, durability="sync")) for one in given]


def run_sync() -> Any:
    with SqliteSaver.from_conn_string(f"{folder}/runs.db") as saver:
        graph = builder.compile(checkpointer=saver)
        return [told(graph.invoke(one, config, durability="sync")) for one in given]


results = asyncio.run(run()) if way == "async" else run_sync()
print(json.dumps({"results": results, "effects": log.read_text().split()}))
sys.stdout.flush()
os._exit(0)

"""Reads a SQLite file of threads in which values of a foreign class, a pickle and a method call were
smuggled, without the setting that makes LangGraph strict: `tampered.py FILE FOLDER given|url`.

FOLDER holds the module `foreign`, which leaves a mark when it is imported.
"""

import asyncio
import json
import logging
import os
import sys
from contextlib import AsyncExitStack
from typing import Any

file, folder, how = sys.argv[1:]
os.environ.pop("LANGGRAPH_STRICT_MSGPACK", None)
sys.path.insert(0, folder)

from langgraph.checkpoint.serde import _msgpack  # noqa: E402
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer  # noqa: E402
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: E402

from plait import RunError, Workflow, step  # noqa: E402
from plait.adapters.journals import sqlite_journal  # noqa: E402

assert not _msgpack.STRICT_MSGPACK_ENABLED
logging.getLogger().addHandler(logging.NullHandler())
CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


async def checkpointer(stack: AsyncExitStack) -> Any:
    if how == "url":
        return f"sqlite:///{file}"
    saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(file))
    saver.serde = JsonPlusSerializer(pickle_fallback=True)
    return saver


async def main() -> None:
    async with AsyncExitStack() as stack:
        workflow = Workflow(step(lambda _: "done", id="one"), checkpointer=await checkpointer(stack))
        async with workflow.drive("t") as drive:
            found = await drive.graph.checkpointer.aget_tuple(CONFIG)
            try:
                await drive.graph.checkpointer.aget_tuple({"configurable": {"thread_id": "pickled"}})
            except RunError as error:
                refused = str(error)
        async with sqlite_journal(file) as journal:
            entry = (await journal.read("t", ["k"]))["k"]
        told = {
            "value": found.checkpoint["channel_values"]["smuggled"],
            "written": [value for _, channel, value in found.pending_writes if channel == "smuggled"],
            "journaled": entry.result,
            "pickle": refused,
            "output": (await workflow.thread("t").result()).output,
            "imported": [name for name in ("foreign", "cryptography") if name in sys.modules],
        }
    print(json.dumps(told))


asyncio.run(main())

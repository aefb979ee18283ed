"""A unit for LangGraph's server, which waits in its third call for a file beside the server to appear."""

import time
from pathlib import Path

from plait import Workflow, WorkflowUnit
from plait.testing import Request, ScriptedModel, call


def work(n: int) -> str:
    """Work."""
    if n == 3:
        Path("waiting").touch()
        while not Path("go").exists():
            time.sleep(0.01)
    return f"worked {n}"


def reply(request: Request) -> object:
    called = sum(message.type == "tool" and message.name == "work" for message in request.messages)
    return call("work", n=called + 1) if called < 3 else call("resolve", value="done")


graph = Workflow(WorkflowUnit("u", tools=[work]), model=ScriptedModel(reply)).graph

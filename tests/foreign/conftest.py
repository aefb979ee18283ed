"""A workflow of two units behind a router, as somebody else's graph or server would use it."""

from typing import Any

import pytest

from plait import RouterFlow, ToolRuntime, Workflow, WorkflowUnit
from plait.testing import Request, ScriptedModel, call, text


def ask(question: str, runtime: ToolRuntime) -> str:
    """Ask the user."""
    return f"answer: {runtime.ask(question)}"


def who(runtime: ToolRuntime) -> str:
    """Who is asking, from the context that the caller gave."""
    runtime.stream_writer({"from": "who"})
    return f"user {runtime.context['user'] if isinstance(runtime.context, dict) else runtime.context}"


def reply(request: Request) -> Any:
    if request.unit == "classify":
        return call("resolve", value="record" if "book" in request.first_user else "general")
    if request.unit == "general":
        return text("hello yourself")
    if request.tool_results:
        return call("resolve", value=request.tool_results[-1].text)
    return call("who") if "who" in request.first_user else call("ask", question="how much?")


@pytest.fixture
def workflow() -> Workflow:
    classify = WorkflowUnit("classify", prompt="Decide.")
    record = WorkflowUnit("record", prompt="Book it.", tools=[ask, who])
    general = WorkflowUnit("general", answer="text", conversation=True)
    return Workflow(RouterFlow(classify, {"record": record, "general": general}), model=ScriptedModel(reply))

"""The command in this process and in processes of its own, in a folder with workflows."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

ROUTER = """\
apiVersion: plait/v1
kind: Workflow
metadata: {id: desk}
spec:
  units:
    - {id: classify, prompt: Decide.}
    - {id: weather, prompt: Tell., answer: text}
    - {id: general, prompt: Tell., answer: text}
  flow: {type: router, router: classify, routes: {weather: weather, general: general}}
  mock:
    classify:
      - {when: {contains: rain}, call: {resolve: {value: weather}}}
      - {when: {contains: break}, fail: the model broke}
      - otherwise: {call: {resolve: {value: general}}}
    weather: [{otherwise: {text: It rains.}}]
    general: [{otherwise: {text: 你好。}}]
"""

ASKING = '''\
"""Workflows that ask, wait and are steered."""

import asyncio
from pathlib import Path

from plait import Workflow, WorkflowUnit, ask, tool
from plait.testing import ScriptedModel, call


def ask_back(question: str) -> str:
    """Ask."""
    return str(ask(question))


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def wait_for(name: str) -> str:
    """Wait until a file of that name is there."""
    Path(f"{name}.waits").touch()
    while not Path(name).exists():
        await asyncio.sleep(0.01)
    return f"{name} is there"


def _after_a_tool(first, then):
    return ScriptedModel(lambda request: then if request.messages[-1].type == "tool" else first)


def _told(request):
    said = [str(message.text) for message in request.messages]
    if any("be brief" in each for each in said):
        return call("resolve", value="brief")
    return call("resolve", value="long") if "is there" in said[-1] else call("wait_for", name="go")


asking = Workflow(
    WorkflowUnit("clerk", tools=[tool(ask_back, effect="read")]),
    model=_after_a_tool(call("ask_back", question="Which one?"), call("resolve", value="settled")),
)
paying = Workflow(
    WorkflowUnit("till", tools=[tool(pay, approval=True)]),
    model=_after_a_tool(call("pay", amount=7), call("resolve", value="finished")),
)
waiting = Workflow(
    WorkflowUnit("first", tools=[tool(wait_for, effect="idempotent")]) >> WorkflowUnit("second"),
    model=ScriptedModel({"first": _told, "second": lambda request: call("resolve", value="the end")}),
)
unit = WorkflowUnit("alone", model=ScriptedModel(lambda request: call("resolve", value="alone")))


def made():
    return asking


number = 7
bare = WorkflowUnit("first") >> WorkflowUnit("second")
twice = WorkflowUnit("a") >> WorkflowUnit("a", prompt="another")
'''


class Folder:
    """A folder with a YAML file, a Python file, and the command to run there."""

    def __init__(self, path, name):
        self.path, self.name = path, name
        (path / "desk.yaml").write_text(ROUTER, encoding="utf-8")
        (path / f"{name}.py").write_text(ASKING, encoding="utf-8")

    def file(self, attribute):
        return f"{self.name}.py:{attribute}"

    def invoke(self, *args, input=None):
        """Run the command in this process."""
        from plait.cli.app import app

        return CliRunner().invoke(app, [*args], input=input)

    def run(self, *args, input=None, timeout=120):
        """Run the command in a process of its own, with pipes."""
        return subprocess.run(
            self.command(*args),
            input=input,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=self.path,
            env=self.env,
            timeout=timeout,
        )

    def command(self, *args):
        return [sys.executable, "-m", "plait.cli", *args]

    @property
    def env(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI")}
        return {**kept, "TERM": "xterm-256color", "PYTHONUTF8": "1"}


@pytest.fixture
def folder(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    name = f"flows_{abs(hash(request.node.nodeid))}"
    before, modules = sys.path.copy(), set(sys.modules)
    yield Folder(tmp_path, name)
    sys.path[:] = before
    for one in set(sys.modules) - modules:
        if one.startswith("flows_"):
            del sys.modules[one]

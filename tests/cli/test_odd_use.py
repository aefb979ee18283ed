"""What people do by mistake: names that are alike, modules that exit, pipes that close, missing folders."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plait.cli.memory import Memory, Remembered

ASKING = """
from plait import ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, rules, call, text

def ask(runtime: ToolRuntime) -> str:
    "Ask."
    return str(runtime.ask("who?"))

def reply(request):
    return text("told " + request.tool_results[0].text) if request.tool_results else call("ask")

workflow = Workflow(WorkflowUnit("asker", tools=[ask], answer="text"), model=ScriptedModel(reply))

def broken():
    raise OSError("no such thing")
"""


def plait(folder: Path, *words: str, given: str | bytes = "") -> subprocess.CompletedProcess[bytes]:
    data = given if isinstance(given, bytes) else given.encode()
    command = [sys.executable, "-m", "plait.cli", *words]
    return subprocess.run(command, cwd=folder, input=data, capture_output=True, timeout=60, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ask.py").write_text(ASKING)
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(0)\n")
    return tmp_path


def test_long_names_that_begin_alike_are_two_threads(tmp_path: Path) -> None:
    memory, names = Memory(tmp_path), ["客户投诉处理流程" * 9 + end for end in "甲乙"]
    for name in names:
        memory.put(Remembered(name, "a.yaml", None, task=name[-1]))
    assert [memory.get(name).task for name in names] == ["甲", "乙"]
    assert len(memory.all()) == 2
    assert memory.get("客户投诉处理流程" * 9) is None


@pytest.mark.parametrize(
    ("words", "given", "told"),
    [
        (["run", "exits.py:workflow", "hi"], "", "it called sys.exit(0)"),
        (["run", "ask.py:broken", "hi"], "", "ask.py:broken makes no workflow: it raised OSError"),
        (["run", "ask.py:workflow", ""], "", "the task is empty"),
        (["run", "ask.py:workflow", "-"], b"\xff\xfe\x00", "standard input is no text in UTF-8"),
        (["draw", "ask.py:workflow", "-o", "nowhere/x.svg"], "", "nowhere/x.svg cannot be written"),
        (["resume", "unknown"], "", "no thread 'unknown' is remembered"),
    ],
)
def test_wrong_usage_is_told_in_a_line_and_ends_with_2(
    folder: Path, words: list[str], given: str | bytes, told: str
) -> None:
    ended = plait(folder, *words, given=given)
    said = " ".join(ended.stderr.decode().split())
    assert (ended.returncode, told in said, "Traceback" in said) == (2, True, False), said
    assert not list((folder / ".plait").glob("threads/*"))


def test_answers_that_fit_no_question_are_wrong_usage(folder: Path) -> None:
    assert plait(folder, "run", "ask.py:workflow", "hi", "--thread", "t").returncode == 3
    assert plait(folder, "resume", "t", "--answer", "=Mei").returncode == 2
    assert plait(folder, "resume", "t", "--answer", "asker=Mei", "--answer", "asker=Li").returncode == 2
    assert plait(folder, "resume", "t", "Mei").returncode == 0
    again = plait(folder, "resume", "t", "Mei")
    assert (again.returncode, b"nothing to answer" in again.stderr) == (2, True)


def test_a_pipe_that_closes_does_not_break_the_run(folder: Path) -> None:
    command = [sys.executable, "-m", "plait.cli", "run", "ask.py:workflow", "hi", "--json", "--thread", "t"]
    complaints = folder / "complaints"
    with complaints.open("wb") as stderr:
        running = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=stderr)
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["type"] == "agent_start"
        running.stdout.close()
        assert running.wait(60) == 3, complaints.read_text()
    assert "Broken" not in complaints.read_text()
    assert b"paused" in plait(folder, "threads").stdout


def test_a_thread_is_found_by_the_beginning_of_its_name(folder: Path) -> None:
    assert (
        plait(
            folder, "run", "ask.py:workflow", "a task of many words " * 9, "--thread", "long-name"
        ).returncode
        == 3
    )
    listed = plait(folder, "threads").stdout.decode().splitlines()
    assert [line.split("\t")[:2] for line in listed] == [["long-name", "paused"]]
    assert plait(folder, "resume", "long", "Mei").returncode == 0


def test_what_was_refused_changes_nothing_of_what_is_remembered(folder: Path) -> None:
    plait(folder, "run", "ask.py:workflow", "hi", "--thread", "t")
    plait(folder, "resume", "t", "Mei")
    before = plait(folder, "threads").stdout
    assert plait(folder, "resume", "t").returncode != 0
    assert plait(folder, "threads").stdout == before
    assert b"\tdone\t" in before

"""What is remembered of threads, and what the documents say of the command."""

import os
import re
from pathlib import Path

import pytest
import yaml

from plait.cli.app import COMMANDS
from plait.cli.memory import Memory, Remembered, begun, now_at
from plait.cli.status import DONE, FAILED, INTERRUPTED, MEANINGS, PAUSED, worst
from plait.core.errors import PlaitError

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


@pytest.fixture
def memory(tmp_path):
    return Memory(tmp_path / ".plait")


@pytest.mark.parametrize("thread", ["t", "a/b", "线程 1", "../up", "x" * 150])
def test_a_thread_of_any_name_is_found_again(memory, thread):
    kept = begun(thread, "desk.yaml", None, "a task", None)
    memory.put(kept)

    assert memory.get(thread) == kept
    assert memory.all() == [kept]
    assert memory.find([thread, "more"]) == (kept, ["more"])


def test_a_thread_nobody_remembers_needs_its_file(memory):
    found, rest = memory.find(["desk.yaml", "t", "yes"])

    assert (found.file, found.thread, rest) == ("desk.yaml", "t", ["yes"])
    for names in (["t"], ["t", "yes"], []):
        with pytest.raises(PlaitError):
            memory.find(names)


def test_a_run_whose_process_is_gone_broke_off(memory):
    running = begun("t", "desk.yaml", None, "", None)

    assert running.stands == "running"
    assert Remembered("t", "desk.yaml", None, pid=2**30).stands == "broke off"
    assert now_at(running, "done").stands == "done"
    assert running.pid == os.getpid()


def test_a_strange_file_among_the_remembered_is_passed_over(memory):
    memory.put(begun("t", "desk.yaml", None, "", None))
    (memory.folder / "threads" / "broken.json").write_text("{", encoding="utf-8")

    assert [one.thread for one in memory.all()] == ["t"]


def test_of_many_the_worst_status_counts():
    assert worst([]) == DONE
    assert worst([DONE, PAUSED]) == PAUSED
    assert worst([PAUSED, FAILED, DONE]) == FAILED
    assert worst([FAILED, INTERRUPTED]) == INTERRUPTED


def test_every_command_and_exit_status_is_documented():
    told = dict(re.findall(r"^\| (\d+) \| (.+) \|$", DOCUMENT, re.M))

    assert told == {str(status): meaning for status, meaning in MEANINGS.items()}
    assert set(re.findall(r"^\| `plait (\w+)", DOCUMENT, re.M)) == set(COMMANDS)


def test_the_hook_calls_a_command_that_there_is():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

    program, command = hook["entry"].split()
    assert (program, command in COMMANDS) == ("plait", True)
    assert re.search(hook["files"], "desk/workflow.yaml")

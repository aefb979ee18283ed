"""What each command prints, keeps and ends with, in one process."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from plait.cli.given import context_from, mapping_from
from plait.cli.guard import Usage


@dataclass
class Given:
    number: int


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_the_output_alone_goes_to_standard_output(folder):
    ended = folder.invoke("run", "desk.yaml", "will it rain?")

    assert (ended.exit_code, ended.stdout) == (0, "It rains.\n")
    assert "scripted replies play" in ended.stderr
    assert "weather: done (1 model call" in ended.stderr


def test_a_task_can_come_from_standard_input(folder):
    assert folder.invoke("run", "desk.yaml", "-", input="rain?\n").stdout == "It rains.\n"
    assert folder.invoke("run", "desk.yaml", "-q", input="hello\n").stdout == "你好。\n"


def test_events_come_as_json_with_the_result_last(folder):
    *events, last = lines(folder.invoke("run", "desk.yaml", "rain", "--json", "--thread", "t").stdout)

    assert events[0]["type"] == "agent_start"
    assert events[-1]["type"] == "agent_end"
    assert last["type"] == "result"
    assert (last["thread_id"], last["outcome"], last["output"]) == ("t", "done", "It rains.")
    assert last["route"] == ["classify", "weather"]


def test_a_run_that_fails_ends_with_1_and_says_how_to_go_on(folder):
    ended = folder.invoke("run", "desk.yaml", "please break", "--thread", "broken")

    assert ended.exit_code == 1
    assert "the model broke" in ended.stderr
    assert "plait resume broken" in ended.stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["run", "nothing.yaml", "x"], "cannot be read"),
        (["run", "nothing.py:flow", "x"], "no such file"),
        (["run", "no.such.module:flow", "x"], "cannot be imported"),
        (["run", "plait:nothing", "x"], "no attribute"),
        (["run", "plait", "x"], "names no workflow"),
        (["run", "desk.yaml", "x", "--state", "nothing"], "KEY=VALUE"),
        (["run", "desk.yaml", "x", "--store", "mysql://x"], "sqlite:///"),
        (["run", "desk.yaml", "-"], "the task is empty"),
        (["run", "desk.yaml", "--tasks", "none.txt"], "cannot be read"),
        (["draw", "desk.yaml", "-o", "desk.gif"], ".svg"),
        (["test", "desk.yaml"], "desk.cases.yaml is not there"),
        (["steer", "desk.yaml", "t", "classify"], "THREAD ADDRESS TEXT"),
        (["new", "1"], "begin with a letter"),
    ],
)
def test_wrong_usage_ends_with_2_and_one_block(folder, args, told):
    ended = folder.invoke(*args)

    assert ended.exit_code == 2
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_unknown_thread_is_said_to_be_unknown(folder):
    ended = folder.invoke("resume", "nobody")

    assert ended.exit_code == 2
    assert "no thread 'nobody'" in ended.stderr


@pytest.mark.parametrize("attribute", ["asking", "made"])
def test_a_python_file_names_a_workflow_or_what_makes_one(folder, attribute):
    ended = folder.invoke("run", folder.file(attribute), "x", "--thread", "t")

    assert ended.exit_code == 3
    assert "Which one?" in ended.stderr


def test_a_unit_can_be_run_alone(folder):
    assert folder.invoke("run", folder.file("unit"), "x").stdout == "alone\n"


def test_what_is_no_workflow_is_refused(folder):
    ended = folder.invoke("run", folder.file("number"), "x")

    assert ended.exit_code == 2
    assert "is int, and no workflow" in ended.stderr


def test_a_paused_thread_goes_on_with_an_answer(folder):
    folder.invoke("run", folder.file("asking"), "x", "--thread", "t")

    ended = folder.invoke("resume", "t", "the", "red", "one")

    assert (ended.exit_code, ended.stdout) == (0, "settled\n")


def test_a_thread_needs_an_answer_to_go_on(folder):
    folder.invoke("run", folder.file("asking"), "x", "--thread", "t")

    ended = folder.invoke("resume", "t")

    assert ended.exit_code == 1
    assert "paused" in ended.stderr


def test_a_call_is_edited_and_approved(folder):
    folder.invoke("run", folder.file("paying"), "x", "--thread", "t")
    refused = folder.invoke("resume", "t", "perhaps")

    ended = folder.invoke("resume", "t", "--answer", 'till=edit {"amount": 5}', "--json")
    step = lines(folder.invoke("show", "t", "--json").stdout)[0]["steps"][0]

    assert "it takes: approve" in refused.stderr
    assert ended.exit_code == 0
    assert step["calls"][0] == {"tool": "pay", "args": {"amount": 7}, "ok": True}


def test_threads_and_show_tell_of_what_ran(folder):
    folder.invoke("run", "desk.yaml", "will it rain?", "--thread", "a")
    folder.invoke("run", folder.file("asking"), "x", "--thread", "b")

    listed = folder.invoke("threads").stdout
    found = lines(folder.invoke("threads", "desk.yaml", "--json").stdout)
    shown = folder.invoke("show", "a").stdout

    assert [line.split("\t")[0] for line in listed.splitlines()] == ["b", "a"]
    assert [one["thread"] for one in found] == ["a"]
    assert (found[0]["outcome"], found[0]["task"]) == ("done", "will it rain?")
    assert "✓ classify" in shown
    assert shown.endswith("It rains.\n")
    assert "Which one?" in folder.invoke("show", "b").stdout
    assert "agent_end" in folder.invoke("show", "a", "--events", "--json").stdout


def test_a_thread_is_found_by_its_file_and_store(folder):
    store = f"sqlite:///{folder.path / 'own.db'}"
    folder.invoke("run", "desk.yaml", "rain", "--thread", "t", "--store", store)
    (folder.path / ".plait" / "threads" / "t.json").unlink()

    shown = folder.invoke("show", "desk.yaml", "t", "--store", store, "--json")

    assert lines(shown.stdout)[0]["output"] == "It rains."


def test_a_fork_goes_on_by_itself(folder):
    folder.invoke("run", folder.file("asking"), "x", "--thread", "t")
    assert "next clerk" in folder.invoke("show", "t", "--history").stdout

    made = folder.invoke("fork", "t", "--name", "copy")

    assert made.stdout == "copy\n"
    assert folder.invoke("resume", "copy", "blue").stdout == "settled\n"
    assert folder.invoke("resume", "t", "red").stdout == "settled\n"


def test_many_tasks_are_run_and_shown_as_a_table(folder):
    Path("tasks.txt").write_text("rain\nhello\n\nplease break\n", encoding="utf-8")

    table = folder.invoke("run", "desk.yaml", "--tasks", "tasks.txt", "--concurrency", "2")
    told = lines(folder.invoke("run", "desk.yaml", "--tasks", "-", "--json", input="rain\nhello\n").stdout)

    assert table.exit_code == 1
    assert "It rains." in table.stdout
    assert "你好。" in table.stdout
    assert "2 tasks done, 1 not, 0 not begun" in table.stderr
    assert sorted((one["number"], one["output"]) for one in told) == [(1, "It rains."), (2, "你好。")]


def test_state_and_context_are_read_from_words_json_and_files(folder):
    Path("state.json").write_text('{"b": [2]}', encoding="utf-8")
    given = ["a=1", "name=红", '{"c": null}', "@state.json"]

    assert mapping_from(given, "--state") == {"a": 1, "name": "红", "c": None, "b": [2]}
    assert mapping_from((), "--state") is None
    assert context_from(["number=7"], Given) == Given(7)
    with pytest.raises(Usage, match="number"):
        context_from(["number=seven"], Given)


def test_check_tells_every_fault_at_its_place(folder):
    bad = Path("bad.yaml")
    bad.write_text(Path("desk.yaml").read_text("utf-8").replace("routes:", "rutes:"), encoding="utf-8")

    good = folder.invoke("check", "desk.yaml", folder.file("asking"))
    ended = folder.invoke("check", "desk.yaml", "bad.yaml")
    told = lines(folder.invoke("check", "bad.yaml", "--format", "json").stdout)

    assert (good.exit_code, good.stdout) == (0, "")
    assert ended.exit_code == 1
    assert "bad.yaml:9:" in ended.stdout
    assert {"code": "unknown-key", "line": 9, "hint": "routes"}.items() <= told[-1].items()


@pytest.mark.parametrize(
    ("name", "begins"), [("d.svg", b"<svg"), ("d.mmd", b"flowchart"), ("d.png", b"\x89PNG")]
)
def test_a_workflow_is_drawn(folder, name, begins):
    if name.endswith("png"):
        pytest.importorskip("resvg_py")

    assert folder.invoke("draw", "desk.yaml", "-o", name).exit_code == 0

    assert Path(name).read_bytes().startswith(begins)


def test_a_flow_needs_no_model_to_be_checked_and_drawn(folder):
    assert folder.invoke("check", folder.file("bare")).exit_code == 0
    assert "second" in folder.invoke("draw", folder.file("bare")).stdout
    assert folder.invoke("run", folder.file("bare"), "x").exit_code == 2


def test_a_flow_in_python_that_cannot_run_is_a_fault(folder):
    ended = folder.invoke("check", folder.file("twice"))

    assert ended.exit_code == 1
    assert "definition" in ended.stdout


def test_a_drawing_without_a_file_is_printed(folder):
    assert folder.invoke("draw", folder.file("paying")).stdout.startswith("flowchart TB")


CASES = """\
cases:
  - name: rain
    input: will it rain?
    expect: {route: [classify, weather], equals: It rains., model_calls: 2}
  - name: own replies
    input: rain
    mock: {classify: [{call: {resolve: {value: general}}}], general: [{text: Hm.}]}
    expect: {route: [classify, general], output: Hm., calls: []}
  - name: wrong
    input: hello
    expect: {route: [classify, weather], contains: rains}
"""


def test_cases_pass_or_tell_the_difference(folder):
    Path("desk.cases.yaml").write_text(CASES, encoding="utf-8")

    ended = folder.invoke("test", "desk.yaml")
    told = lines(folder.invoke("test", "desk.cases.yaml", "--json").stdout)

    assert ended.exit_code == 1
    assert "2 passed, 1 failed" in ended.stderr
    assert '["classify", "general"]' in ended.stdout
    assert [one["passed"] for one in told] == [True, True, False]
    assert folder.invoke("test", "desk.yaml", "-k", "rain").exit_code == 0


def test_a_case_answers_what_is_asked(folder):
    cases = f"""\
workflow: {folder.file("asking")}
cases:
  - {{name: answered, input: x, answers: [the red one], expect: {{equals: settled, calls: [ask_back]}}}}
  - {{name: left, input: x, expect: {{outcome: paused}}}}
"""
    Path("asking.cases.yaml").write_text(cases, encoding="utf-8")

    assert folder.invoke("test", "asking.cases.yaml").exit_code == 0


def test_a_fault_in_cases_is_told_at_its_place(folder):
    Path("desk.cases.yaml").write_text(CASES.replace("model_calls", "model_cals"), encoding="utf-8")

    ended = folder.invoke("check", "desk.cases.yaml")

    assert ended.exit_code == 1
    assert "desk.cases.yaml:4:" in ended.stdout
    assert folder.invoke("test", "desk.yaml").exit_code == 2


def test_dev_writes_what_the_server_reads(folder):
    assert folder.invoke("dev", "desk.yaml", "--write-only").exit_code == 0

    config = json.loads(Path(".plait/dev/langgraph.json").read_text("utf-8"))
    where = config["graphs"]["desk"].rpartition(":")[0]
    names: dict = {}
    exec(Path(where).read_text("utf-8"), names)  # as the server does
    assert asyncio.run(names["graph"].ainvoke({"task": "rain"}))["output"] == "It rains."

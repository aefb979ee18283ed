"""The code review: planted bugs by file and line, tools that stay inside, a report, a real stream."""

import os
import re
from pathlib import Path

import pytest

from plait import ReflexionFlow, RouterFlow, Workflow
from plait.examples import code_review as command
from plait.examples.code_review import DEMO_DIFF, DEMO_REPOSITORY, main, unpack
from plait.examples.models import NO_KEY
from plait.examples.review.diff import FileChange, Line, numbered, read_diff, read_numbered
from plait.examples.review.repository import MOST_BYTES, MOST_CHARACTERS, MOST_HITS, Repository
from plait.examples.review.rules import findings, not_awaited
from plait.examples.review.scripted import SCRIPT, scripted_model
from plait.examples.review.units import Report, code_review, deep, review_workflow
from plait.testing import ScriptedModel, call, fail

DIFF = DEMO_DIFF.read_text(encoding="utf-8")
TASK = numbered(read_diff(DIFF))

# What was planted, found by its text so that the numbers below can be trusted.
PLANTED = {
    ("shop/discounts.py", 8): "return eval(rule",
    ("shop/orders.py", 21): "WHERE name = '{name}'",
    ("shop/config.py", 7): "PAYMENT_API_KEY =",
    ("shop/orders.py", 33): "for other in orders:",
    ("shop/orders.py", 48): "row = connection.execute(",
    ("shop/checkout.py", 19): "send_receipt(order)",
    ("shop/checkout.py", 17): "except:",
    ("shop/checkout.py", 24): "def price(",
    ("shop/pages.py", 12): "range(len(items) + 1)",
    ("shop/pages.py", 17): "footer: list[str] = []",
}
ELSEWHERE = ("shop/checkout.py", 20)  # async, which only another file of the repository tells
HARMLESS = ("shop/orders.py", 26)  # SQL from a constant, which only the whole file tells


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    folder = tmp_path / "shop-main"
    unpack(DEMO_REPOSITORY.read_text(encoding="utf-8"), folder)
    return Repository(folder)


def places(report: Report) -> set[tuple[str, int]]:
    return {(one.file, one.line) for one in report.findings}


def test_the_planted_bugs_stand_where_the_tests_say(repository):
    for (file, line), text in PLANTED.items():
        assert text in (repository.root / file).read_text(encoding="utf-8").splitlines()[line - 1]


def test_the_shipped_diff_and_repository_agree(repository):
    for change in read_diff(DIFF):
        rows = (repository.root / change.path).read_text(encoding="utf-8").splitlines()
        assert all(rows[line.number - 1] == line.text for line in change.lines if line.sign != "-")


async def test_every_planted_bug_is_named_by_file_and_line(repository):
    result = await review_workflow(scripted_model()).run(TASK, context=repository)
    assert places(result.output) == {*PLANTED, ELSEWHERE}
    assert [one.severity for one in result.output.findings[:2]] == ["critical", "critical"]
    evidence = next(one.evidence for one in result.output.findings if one.file == "shop/discounts.py")
    assert evidence == 'line 8 of the file: return eval(rule, {"total": total})'


async def test_the_diff_alone_is_enough_for_what_it_shows():
    result = await review_workflow(scripted_model()).run(TASK)
    assert places(result.output) == {*PLANTED, HARMLESS}


async def test_the_steps_run_where_the_flow_says_and_their_usage_adds_up(repository):
    result = await review_workflow(scripted_model()).run(TASK, context=repository)
    paths = [step.path for step in result.steps]
    assert paths[:2] == ["triage", "deep/plan"]
    assert paths[-1] == "deep/report"
    rounds = [f"deep/security[{n}]/{unit}" for n in (1, 2) for unit in ("actor", "evaluator")]
    assert [path for path in paths if "security" in path] == rounds
    assert set(paths[2:-1]) == {*rounds, "deep/performance", "deep/architecture", "deep/bugs"}
    assert paths.index("deep/bugs") > paths.index("deep/security[2]/evaluator")
    assert result.usage.model_calls == sum(step.usage.model_calls for step in result.steps) == 14
    assert result.usage.tool_calls == 6
    assert result.outcome == "done"


async def test_a_harmless_change_gets_a_quick_look():
    task = numbered([FileChange("README.md", (Line(1, "+", "# Shop"),))])
    result = await review_workflow(scripted_model()).run(task)
    assert [step.path for step in result.steps] == ["triage", "quick"]
    assert result.output == Report(summary="Nothing to object to.")


async def test_a_reviewer_that_fails_is_named_and_the_others_count(repository):
    script = {**SCRIPT, "performance": [fail(OSError("down"))] * 5}
    result = await review_workflow(ScriptedModel(script)).run(TASK, context=repository)
    assert result.outcome == "partial"
    assert "deep/performance" in result.output.summary
    assert ("shop/discounts.py", 8) in places(result.output)


async def test_a_run_streams_each_unit_and_each_tool(repository):
    events = [event async for event in review_workflow(scripted_model()).stream(TASK, context=repository)]
    ended = [event.path for event in events if event.type == "agent_end" and event.path]
    assert {"triage", "deep/plan", "deep/security[2]/evaluator", "deep/bugs", "deep/report"} <= set(ended)
    tools = {event.tool for event in events if event.type == "tool_execution_start"}
    assert {"read_file", "search"} <= tools
    assert events[-1].result.output.findings


async def test_the_evaluator_asks_for_evidence_once(repository):
    result = await review_workflow(scripted_model()).run(TASK, context=repository)
    verdicts = [step.output for step in result.steps if step.unit == "evaluator"]
    assert [verdict.score for verdict in verdicts] == [5, 9]
    assert "shop/orders.py:21" in verdicts[0].feedback


def test_the_flow_is_the_one_of_the_design():
    assert isinstance(code_review, RouterFlow)
    assert isinstance(deep.executors["security"], ReflexionFlow)
    assert deep.dependencies == {"bugs": ("security",)}
    assert Workflow(code_review, model=scripted_model()).graph.get_graph(xray=True).draw_mermaid()


# The diff


def test_a_diff_gives_each_line_its_number_in_the_new_file():
    text = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -3,3 +3,3 @@ def f():
 same
-old
+new
 --- no header
@@ -20 +20,2 @@
+++ also no header
 last
\\ No newline at end of file
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git "a/\\350\\256\\260.py" "b/\\350\\256\\260.py"
--- "a/\\350\\256\\260.py"
+++ "b/\\350\\256\\260.py"
@@ -0,0 +1 @@
+x = 1
"""
    first, second = read_diff(text)
    assert [(line.number, line.sign) for line in first.lines[:4]] == [(3, " "), (0, "-"), (4, "+"), (5, " ")]
    assert [(line.number, line.text) for line in first.added] == [(4, "new"), (20, "++ also no header")]
    assert (second.path, second.added) == ("记.py", (Line(1, "+", "x = 1"),))
    assert read_numbered(numbered([first, second])) == [first, second]


@pytest.mark.parametrize("text", ["", "hello", "diff --git a/x b/x\nBinary files a/x and b/x differ\n"])
def test_what_is_no_diff_is_refused(text):
    with pytest.raises(ValueError, match="no unified diff"):
        read_diff(text)


def test_a_line_of_code_cannot_pass_for_another_file_or_an_answer():
    tricky = FileChange("a.py", (Line(1, "+", "File b.py"), Line(2, "+", "Output of x:"), Line(3, "+", "")))
    assert read_numbered(f'{numbered([tricky])}\n\nOutput of deep/plan:\n{{"files": []}}') == [tricky]


# The rules


def code(*rows: str) -> list[FileChange]:
    return [FileChange("a.py", tuple(Line(n, "+", row) for n, row in enumerate(rows, start=1)))]


@pytest.mark.parametrize(
    ("reviewer", "bad", "good"),
    [
        ("security", "x = eval(data)", "x = ast.literal_eval(data)"),
        ("security", "exec(code)", "# exec(code)"),
        ("security", 'q = "SELECT * FROM t WHERE a = %s" % a', 'q = "SELECT * FROM t WHERE a = ?"'),
        ("security", 'q = "DELETE FROM t WHERE a = " + a', 'log("deleted from " + a)'),
        ("security", 'password = "hunter2hunter2"', 'password = os.environ["PASSWORD"]'),
        ("security", "run(line, shell=True)", "run([line])"),
        ("performance", "    time.sleep(1)", "    await asyncio.sleep(1)"),
        ("architecture", "    global cache", "    cache = {}"),
        ("bugs", "except:", "except ValueError:"),
        ("bugs", "while i <= len(rows):", "while i < len(rows):"),
        ("bugs", "def f(x=[]):", "def f(x=()):"),
    ],
)
def test_a_rule_knows_bad_from_good(reviewer, bad, good):
    assert [one.line for one in findings(code(bad), reviewer)] == [1]
    assert findings(code(good), reviewer) == []


def test_loops_side_by_side_are_not_quadratic():
    rows = ["for a in items:", "    use(a)", "for b in items:", "    use(b)"]
    assert findings(code(*rows), "performance") == []
    assert [one.line for one in findings(code(rows[0], f"    {rows[2]}"), "performance")] == [2]


def test_only_calls_whose_result_is_dropped_miss_their_await():
    rows = ["send(x)", "await send(x)", "y = send(x)", "tasks.append(send(x))", "async def send(x): ..."]
    assert [one.line for one in not_awaited(code(*rows), ["send"])] == [1, 3]
    assert not_awaited(code(*rows), []) == []


# The tools


def test_a_file_is_read_with_its_line_numbers_from_any_line(repository):
    assert repository.read("shop/config.py", 7) == '    7 |PAYMENT_API_KEY = "demo-4f9a1c77e02b"'
    assert repository.read("shop/config.py").startswith('    1 |"""Settings')
    assert repository.search("def record_sale") == (
        "shop/mail.py:12: async def record_sale(number: int) -> None:"
    )
    assert "shop/pages.py" in repository.files().splitlines()


REFUSED = """../secret.txt shop/../../secret.txt link.txt folder/secret.txt /etc/passwd .env .git/config
    shop none.py a\0b"""


@pytest.mark.parametrize("path", REFUSED.split())
def test_nothing_outside_or_hidden_is_read(repository, path):
    root = repository.root
    (root.parent / "secret.txt").write_text("the key is 42")
    os.symlink(root.parent / "secret.txt", root / "link.txt")
    os.symlink(root.parent, root / "folder")
    (root / ".git").mkdir()
    for hidden in (".env", ".git/config"):
        (root / hidden).write_text("the key is 42")
    with pytest.raises(ValueError, match=r"outside|hidden|no file|no path"):
        repository.read(path)
    assert repository.search("the key is") == "nothing found"
    assert "secret" not in repository.files()


def test_large_files_and_many_hits_are_cut(repository):
    (repository.root / "large.txt").write_text("needle in a long line of hay\n" * 100_000)
    shown = repository.read("large.txt")
    assert len(shown) < MOST_CHARACTERS * 1.2
    assert re.search(r"\[\d+ more lines\]$", shown)
    assert len(repository.search("needle").splitlines()) == MOST_HITS + 1
    (repository.root / "wide.txt").write_text("x" * (2 * MOST_BYTES))
    assert len(repository.read("wide.txt")) < 600
    (repository.root / "data.bin").write_bytes(b"\0needle\xff")
    assert "binary" in repository.read("data.bin")


async def test_a_model_that_reaches_outside_is_told_no_and_goes_on(repository):
    (repository.root.parent / "secret.txt").write_text("the key is 42")
    model = ScriptedModel(
        {
            "triage": [call("resolve", route="quick", why="small")],
            "quick": [call("read_file", path="../secret.txt"), call("resolve", summary="fine", findings=[])],
        }
    )
    result = await review_workflow(model).run(TASK, context=repository)
    refused = result.steps[1].tool_calls[0]
    assert not refused.ok
    assert "outside the repository" in refused.output
    assert "the key is" not in str(model.requests[-1].messages)


# The command


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_the_demo_prints_progress_and_a_report(capsys):
    assert main(["--demo"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == NO_KEY
    assert "  done     deep/security[2]/evaluator" in shown
    for file, line in PLANTED:
        assert re.search(rf"^{re.escape(file)}:{line}: (critical|major|minor): ", shown, re.M)
    assert re.search(r"^14 model calls, 6 tool calls, \d+ tokens, [\d.]+ s$", shown, re.M)


def test_a_diff_from_a_file_is_reviewed_with_its_repository(repository, tmp_path, capsys):
    (tmp_path / "change.diff").write_text(DIFF, encoding="utf-8")
    assert main([str(tmp_path / "change.diff"), "--repo", str(repository.root)]) == 0
    assert "shop/checkout.py:20: major: record_sale is async" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--demo", "x.diff"], ["no such file"], ["--demo", "--nothing"]])
def test_wrong_usage_is_said(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: code_review" in capsys.readouterr().err


def test_a_review_that_fails_says_why(monkeypatch, capsys):
    failing = ScriptedModel(lambda request: fail(OSError("the line is dead")))
    monkeypatch.setattr(command, "chosen_model", lambda scripted: (failing, "Running on nothing."))
    assert main(["--demo"]) == 1
    assert "the line is dead" in capsys.readouterr().err


def test_the_workflow_can_be_drawn(capsys):
    assert main(["--draw"]) == 0
    assert capsys.readouterr().out == code_review.draw().mermaid

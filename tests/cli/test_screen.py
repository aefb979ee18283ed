"""The live tree on a terminal, and as lines: pure functions of events."""

import pytest
from rich.cells import cell_len
from rich.console import Console

from plait import ParallelFlow, WorkflowUnit
from plait.cli.lines import line_of
from plait.cli.screen import MARKS, screen, short, shortened, tail
from plait.core.events import Event
from plait.view.live import LiveTree

FLOW = (
    WorkflowUnit("plan")
    >> ParallelFlow(WorkflowUnit("安全检查"), WorkflowUnit("bugs"))
    >> WorkflowUnit("end")
)
BEGUN = [
    Event("agent_start", time=100.0),
    Event("agent_start", path="plan", unit="plan", time=100.0),
    Event("agent_end", path="plan", unit="plan", time=102.5, outcome="done"),
    Event("agent_start", path="parallel/安全检查", unit="安全检查", time=103.0),
    Event("message_start", path="parallel/安全检查", time=103.0),
    Event("message_update", path="parallel/安全检查", delta="正在阅读代码, " * 30 + "the end", time=103.0),
    Event("agent_start", path="parallel/bugs", unit="bugs", time=103.0),
    Event("tool_execution_start", path="parallel/bugs", tool="search", call_id="1", time=104.0),
]


def shown(width, height=None, events=BEGUN, head="看看这个改动 and say what is wrong with it"):
    console = Console(width=width, force_terminal=False, record=True, file=open_null())
    console.print(screen(LiveTree.of(FLOW).after(*events), 110.0, width, height, head))
    return console.export_text().splitlines()


def open_null():
    from io import StringIO

    return StringIO()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_numbers_align(width):
    lines = shown(width)

    assert max(map(cell_len, lines)) <= width
    assert {cell_len(line.rstrip()) for line in lines if line.rstrip().endswith(" s")} == {width}


def test_each_part_shows_how_it_stands_and_what_it_does():
    lines = [line.rstrip() for line in shown(60)]

    assert lines[1].lstrip().startswith(f"{MARKS['done'][0]} plan")
    assert any(line.strip() == "runs search" for line in lines)
    assert any(line.strip().startswith("…") and line.endswith("the end") for line in lines)
    assert lines[-1].strip() == "· end"


def test_a_low_terminal_keeps_what_runs():
    lines = shown(60, height=8)

    assert len(lines) <= 8
    assert any("bugs" in line for line in lines)
    assert "more line" in lines[-1]


def test_an_error_stands_under_its_unit():
    end = Event("agent_end", path="parallel/bugs", outcome="failed", error="the model\nbroke", time=105.0)

    assert any(line.strip() == "the model broke" for line in shown(80, events=[*BEGUN, end]))


def test_every_mark_is_one_column_wide():
    assert {cell_len(sign) for sign, _ in MARKS.values()} == {1}


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0"), (999, "999"), (1_250, "1.2k"), (34_400, "34k"), (2_000_000, "2.0M")]
)
def test_large_numbers_are_short(number, told):
    assert short(number) == told


@pytest.mark.parametrize("room", [2, 5, 9, 30])
def test_a_cut_text_fits_its_columns(room):
    for cut in (shortened, tail):
        assert cell_len(cut("价格 is 价格 of all", room)) <= room


def test_a_log_has_a_line_for_what_begins_and_ends():
    tree = LiveTree()
    lines = []
    for event in BEGUN:
        tree = tree.after(event)
        lines.append(line_of(event, tree))

    assert [line for line in lines if line] == [
        "plan: begins",
        "plan: done (2.5 s)",
        "parallel/安全检查: begins",
        "parallel/bugs: begins",
        "parallel/bugs: runs search",
    ]

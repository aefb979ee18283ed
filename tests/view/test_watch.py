"""Runs watched in a notebook: what is shown, how often, and that the run does not mind."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from base64 import b64decode
from contextlib import redirect_stdout
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient

from plait import RunError, ThreadPaused, Workflow, WorkflowUnit, ask, tool
from plait.testing import ScriptedModel, call, fail, text
from plait.view import LiveTree, watch
from plait.view.progress import progress_bundle
from plait.view.watch import follow

one, two = (WorkflowUnit(name, answer="text") for name in ("one", "two"))


def workflow(script: object = None, **options: object) -> Workflow:
    return Workflow(one >> two, model=ScriptedModel(script or (lambda request: text("fine"))), **options)


async def shown(run: object) -> list[str]:
    """Each picture of a run that is watched to its end."""
    found: list[dict[str, str]] = []
    await follow(run, found.append)
    assert all("text/plain" in bundle for bundle in found)
    return [bundle["text/html"] for bundle in found]


async def test_a_run_is_shown_from_its_beginning_to_its_end() -> None:
    model = ScriptedModel(lambda request: text("fine"), delay_s=0.5)
    pages = await shown(workflow().replace(model=model).start("go"))
    assert len(pages) >= 3
    assert ">running</span>" in pages[0]
    assert any("one" in page and "thinks" in page for page in pages)
    assert ">done</span>" in pages[-1]
    assert "2 units ended" in pages[-1]


async def test_each_picture_is_a_whole_svg() -> None:
    for page in await shown(workflow().start("go")):
        data = page.partition("data:image/svg+xml;base64,")[2].partition('"')[0]
        ElementTree.fromstring(b64decode(data))


async def test_pictures_are_few_however_many_the_events() -> None:
    model = ScriptedModel(lambda request: text("word " * 2_000), chunk_size=2)
    run = workflow().replace(model=model).start("go", keep_events=50_000)
    pages = await shown(run)
    result = await run.result()
    assert len(pages) <= 5 * result.duration_s + 3
    assert len([event async for event in run.events()]) > 5_000


async def test_a_failed_run_is_shown_and_raised() -> None:
    run = workflow([fail(OSError("<b>down</b>"))]).start("go")
    pages = await shown(run)
    assert ">failed</span>" in pages[-1]
    assert "&lt;b&gt;down&lt;/b&gt;" in pages[-1]
    with pytest.raises(RunError, match="down"):
        await watch(run)


async def test_a_paused_run_is_shown_as_paused() -> None:
    def sign() -> str:
        """Sign."""
        return str(ask("May I?"))

    asks = Workflow(
        WorkflowUnit("asks", answer="text", tools=[tool(sign, effect="read")]),
        model=ScriptedModel([call("sign"), text("x")]),
    )
    pages = await shown(asks.start("go", thread_id="t"))
    assert ">paused</span>" in pages[-1]
    with pytest.raises(ThreadPaused):
        await watch(asks.start("again", thread_id="t"))


async def test_a_run_that_never_began_ends_the_watching() -> None:
    def sign() -> str:
        """Sign."""
        return str(ask("May I?"))

    asks = Workflow(
        WorkflowUnit("asks", answer="text", tools=[tool(sign, effect="read")]),
        model=ScriptedModel([call("sign"), text("x")]),
    )
    await asks.run("go", thread_id="t")
    assert ">waiting</span>" in (await shown(asks.start("again", thread_id="t")))[-1]


async def test_a_screen_that_breaks_does_not_break_the_run() -> None:
    def broken(bundle: dict[str, str]) -> None:
        raise OSError("no screen")

    run = workflow().start("go")
    with pytest.raises(OSError, match="no screen"):
        await follow(run, broken)
    assert (await run.result()).output == "fine"


async def test_a_notebook_that_breaks_keeps_no_result_from_who_watches(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(bundle: dict[str, str]) -> None:
        raise OSError("no screen")

    monkeypatch.setattr(sys.modules["plait.view.watch"], "notebook_screen", lambda: broken)
    assert (await watch(workflow().start("go"))).output == "fine"
    assert "can no longer be shown" in caplog.text


async def test_a_run_is_printed_where_no_loop_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules["plait.view.watch"], "notebook_screen", lambda: lambda bundle: None)
    run = workflow().start("go", thread_id="t")
    await asyncio.to_thread(run._ipython_display_)
    assert capsys.readouterr().out.startswith("Run('t'")
    await run.result()


async def test_outside_a_notebook_nothing_is_shown() -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        result = await watch(workflow().start("go"))
    assert (result.output, printed.getvalue()) == ("fine", "")


def test_tools_that_run_stand_beside_their_unit() -> None:
    from plait import Event

    begun = LiveTree().after(
        Event("agent_start", time=10.0),
        Event("agent_start", path="deep/one", unit="one", time=11.0),
        Event("tool_execution_start", path="deep/one", unit="one", tool="read_file", call_id="1", time=12.0),
        Event("tool_execution_start", path="deep/one", unit="one", tool="<i>", call_id="2", time=12.0),
    )
    bundle = progress_bundle(begun, None, 14.5)
    assert 'runs <span class="p">read_file, &lt;i&gt;</span>' in bundle["text/html"]
    assert "3.5 s" in bundle["text/html"]
    assert bundle["text/plain"].splitlines()[1:] == ["  deep: running", "    one: running (read_file, <i>)"]


LAST_VALUE = """
from plait import Workflow, WorkflowUnit
from plait.testing import ScriptedModel, text
from IPython.display import display

model = ScriptedModel(lambda request: text("fine"), delay_s=0.4)
run = Workflow(WorkflowUnit("one", answer="text"), model=model).start("go")
display(run)
result = await run.result()
for viewer in run.viewers:
    await viewer
"""


async def test_a_run_shown_as_a_value_updates_itself(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(LAST_VALUE)])
    where = {"metadata": {"path": str(tmp_path)}}
    await NotebookClient(notebook, timeout=60, kernel_name="python3", resources=where).async_execute()
    (output,) = notebook.cells[0].outputs
    assert ">done</span>" in output.data["text/html"]


NOT_ASKED = """
import sys
from plait import Workflow, WorkflowUnit
from plait.testing import ScriptedModel, text

run = Workflow(WorkflowUnit("one", answer="text"), model=ScriptedModel([text("x")])).run_sync("go")
assert run.output == "x"
print([name for name in sys.modules if name.startswith("plait.view")])
"""


def test_a_run_imports_nothing_of_what_draws() -> None:
    ran = subprocess.run([sys.executable, "-c", NOT_ASKED], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"

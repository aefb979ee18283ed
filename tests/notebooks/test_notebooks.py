"""The notebooks run from top to bottom in a real kernel, without a key, and show what they promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
STRICT = "import warnings\n\nwarnings.simplefilter('error')"

HTML, SVG, TEXT = "text/html", "image/svg+xml", "text/plain"
SHOWN = {
    "1_a_unit": (
        (SVG, "tools: exchange_rate"),
        (HTML, "265.92"),
        (TEXT, "Decimal('531.84')"),
        (TEXT, "item='tea'"),
        (HTML, "never called resolve"),
        (TEXT, "I have heard 2 message(s) from you"),
    ),
    "2_flows": (
        (SVG, ">parallel<"),
        (SVG, "until score &gt;= 8"),
        (HTML, "task/<wbr>write[2]"),
        (HTML, "classify → reply"),
        (SVG, "reflexion ×3"),
        (SVG, ">delegates<"),
        (HTML, "«splash»"),
    ),
    "3_steering_and_approval": (
        (HTML, "Dear guest, three nights in Lisbon"),
        (TEXT, "{'city': 'Porto'}"),
        (HTML, "When do you want to be in Lisbon?"),
        (HTML, "Booked for the first week of May."),
        (HTML, "pay(amount=400, to=&#x27;TAP Air&#x27;)"),
        (HTML, "40 paid to Alfama House; 400 paid to TAP Air"),
    ),
    "4_durability_and_time_travel": (
        (HTML, "ProviderIsDown: 503"),
        (HTML, "Dear office, four chairs will come."),
        (HTML, "points, newest first"),
        (HTML, "in office-terse"),
        (HTML, "It is a pleasure"),
    ),
    "5_the_code_review": (
        (SVG, "accept score &gt;= 8"),
        (HTML, "10 units ended"),
        (HTML, "eval or exec runs whatever the caller sends"),
        (TEXT, "['shop/discounts.py:8', 'shop/orders.py:21']"),
        (HTML, "it compiles"),
    ),
}
WATCHED = {"3_steering_and_approval": 3, "5_the_code_review": 5}
"""How often, at least, what is shown of the runs in a notebook changes in its place."""


class Client(NotebookClient):  # type: ignore[misc]
    """Executes a notebook, and keeps what was shown in place of something else."""

    def __init__(self, notebook: Any, folder: Path) -> None:
        where = {"metadata": {"path": str(folder)}}
        super().__init__(notebook, timeout=60, kernel_name="python3", resources=where)
        self.updates: list[str] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] == "update_display_data":
            self.updates.append(msg["content"]["data"][HTML])
        return super().process_message(msg, cell, cell_index)


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.ipynb"))])
async def test_a_notebook_shows_what_it_says(name: str, tmp_path: Path) -> None:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
    client = Client(notebook, tmp_path)
    await client.async_execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    bundles = [output.data for output in outputs if "data" in output]
    for kind, text in SHOWN[name]:
        assert any(text in bundle.get(kind, "") for bundle in bundles), (kind, text)
    for bundle in bundles:
        assert "<script" not in bundle.get(HTML, "")
        if SVG in bundle:
            ElementTree.fromstring(bundle[SVG])
    assert len(client.updates) >= WATCHED.get(name, 0)
    assert not client.updates or any(">running</span>" in update for update in client.updates)
    assert not client.updates or ">done</span>" in client.updates[-1]

"""`plait new`: a small project that runs, and passes its own tests, without a key."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from .guard import Usage, guarded
from .project import FILES
from .status import DONE
from .told import error_console


@guarded
def new(
    name: Annotated[str, typer.Argument(help="The folder to make, whose last part names the project.")],
) -> int:
    """Make a small project: a workflow, its tools, test cases."""
    folder = Path(name)
    project = _project_name(folder.name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Usage(f"{folder} is there already, and not empty; choose another name")
    for file, text in FILES.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("PROJECT", project), encoding="utf-8")
    console = error_console()
    console.print(f"[green]made[/] {escape(str(folder))}: {escape(', '.join(FILES))}")
    console.print(f"try: [bold]cd {escape(str(folder))} && plait run workflow.yaml '12 km in miles'[/]")
    return DONE


def _project_name(name: str) -> str:
    """A name that a Python project and a workflow may have."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not plain or plain[0].isdigit() or keyword.iskeyword(plain):
        raise Usage(f"{name!r} cannot name a project; begin with a letter, such as: plait new support-desk")
    return plain

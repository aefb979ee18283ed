"""`plait dev`: LangGraph's server on a workflow, so that Studio opens on it.

The server reads `langgraph.json`, which names a graph in a Python file. Both are written into `.plait/dev`
anew each time; a `langgraph.json` of one's own is never touched.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import MissingExtra
from .guard import guarded
from .memory import Memory
from .target import is_yaml, load
from .told import error_console

MODULE = '''\
"""The graph that LangGraph's server runs; written by `plait dev`."""

from plait.cli.served import served_graph

graph = served_graph({file!r}, folder={folder!r}, model={model!r})
'''


@guarded
def dev(
    file: Annotated[str, typer.Argument(help="A .yaml file, file.py:attribute or package.module:attribute.")],
    port: Annotated[int, typer.Option(help="The port of the server.")] = 2024,
    host: Annotated[str, typer.Option(help="The interface it listens on.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open Studio in the browser.")] = True,
    reload: Annotated[bool, typer.Option(help="Start anew when a file changes.")] = True,
    model: Annotated[str | None, typer.Option(help="A chat model instead of the workflow's.")] = None,
    write: Annotated[bool, typer.Option("--write-only", help="Write the files and start nothing.")] = False,
) -> int:
    """Serve a workflow with LangGraph's development server, for Studio and langgraph-sdk."""
    target = load(file, model=model)
    folder = Memory.here().folder / "dev"
    config = write_files(folder, file, target.workflow.name, model)
    console = error_console()
    console.print(f"[dim]written: {config}[/]", highlight=False)
    if write:
        return 0
    if find_spec("langgraph_cli") is None or find_spec("langgraph_api") is None:
        raise MissingExtra("langgraph-cli", "server")
    flags = [*([] if browser else ["--no-browser"]), *([] if reload else ["--no-reload"])]
    asked = ["dev", "--config", str(config), "--host", host, "--port", str(port), *flags]
    os.execv(sys.executable, [sys.executable, "-m", "langgraph_cli", *asked])  # signals are the server's


def write_files(folder: Path, file: str, name: str, model: str | None) -> Path:
    """Write what the server needs, and return its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / "graph.py"
    here = str(Path.cwd())
    told = str(Path(file).resolve()) if is_yaml(file) else file
    module.write_text(MODULE.format(file=told, folder=here, model=model), encoding="utf-8")
    config = folder / "langgraph.json"
    graphs = {graph_name(name): f"{module}:graph"}
    given = {"dependencies": [here], "graphs": graphs}
    if (env := Path.cwd() / ".env").is_file():
        given["env"] = str(env)
    config.write_text(json.dumps(given, indent=2) + "\n", encoding="utf-8")
    return config


def graph_name(name: str) -> str:
    """A workflow's name as the server takes it."""
    plain = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in name).strip("-")
    return plain or "workflow"

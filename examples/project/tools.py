"""The folder that a run is given as context, as three tools; without one, the folder it is run in."""

from __future__ import annotations

from plait import ToolRuntime
from plait.examples.project.folder import Folder


def search_docs(query: str, runtime: ToolRuntime) -> str:
    """Find lines in the project's documents that hold words of the query; the best come first."""
    return _folder(runtime).search_docs(query)


def read_doc(path: str, runtime: ToolRuntime, start: int = 1) -> str:
    """Read a document of the project from line `start` on, a few thousand characters at a time."""
    return _folder(runtime).read_doc(path, start)


def read_package_script(runtime: ToolRuntime, name: str = "") -> str:
    """Show a script of package.json, pyproject.toml or the Makefile; without a name, list them all."""
    return _folder(runtime).read_package_script(name)


def _folder(runtime: ToolRuntime) -> Folder:
    return runtime.context if isinstance(runtime.context, Folder) else Folder()

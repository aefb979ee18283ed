"""`plait check` and `plait draw`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape

from ..core.errors import DefinitionError, MissingExtra
from ..spec.diagnostics import Diagnostic
from ..view.drawing import Drawing
from ..view.words import count
from ..workflow_file import check_workflow
from ..workflow_models import StandIn
from .cases import SUFFIX, check_cases
from .guard import Usage, guarded
from .status import DONE, FAILED
from .target import as_workflow, is_yaml, load, named
from .told import as_json, error_console

KINDS = (".svg", ".png", ".mmd")
SCALE = 2


@guarded
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Workflow files; also their cases.")],
    format: Annotated[Literal["text", "json"], typer.Option(help="How faults are written.")] = "text",
) -> int:
    """Say what is wrong with workflow files, each fault at its file, line and column.

    Needs no model and no key. Exit status 1 when there is a fault.
    """
    faults = [fault for file in files for fault in faults_of(file)]
    output = Console(highlight=False, soft_wrap=True)
    for fault in faults:
        if format == "json":
            print(as_json(asdict(fault)))
        else:
            output.print(_line(fault))
    if format == "text":
        told = f"{count(len(faults), 'fault')} in" if faults else "no fault in"
        error_console().print(f"[{'red' if faults else 'green'}]{told} {count(len(files), 'file')}[/]")
    return FAILED if faults else DONE


def faults_of(file: str) -> tuple[Diagnostic, ...]:
    """What is wrong with a file of any kind."""
    if file.endswith(SUFFIX):
        return check_cases(Path(file))
    if is_yaml(file):
        return check_workflow(file)
    try:
        as_workflow(named(file), file, StandIn({}))
    except DefinitionError as error:
        return tuple(Diagnostic("definition", one.message, file, path=one.path) for one in error.faults)
    return ()


@guarded
def draw(
    file: Annotated[str, typer.Argument(help="A .yaml file, file.py:attribute or package.module:attribute.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A .svg, .png or .mmd file; else Mermaid is printed."),
    ] = None,
) -> int:
    """Draw a workflow: units, tools and what leads where."""
    if output is not None and output.suffix.lower() not in KINDS:
        raise Usage(f"{output}: the name ends in .svg, .png or .mmd")
    drawing = Drawing(_flow_of(file))
    if output is None:
        print(drawing.mermaid)
        return DONE
    kind = output.suffix.lower()
    drawn = drawing.svg if kind == ".svg" else drawing.mermaid
    data = png_of(drawing.svg) if kind == ".png" else drawn.encode()
    try:
        output.write_bytes(data)
    except OSError as error:
        raise Usage(f"{output} cannot be written: {error.strerror or error}") from error
    error_console().print(f"[dim]drawn in {escape(str(output))}[/]")
    return DONE


def _line(fault: Diagnostic) -> str:
    at = f"{fault.file}:{fault.line}:{fault.column}"
    told = escape(str(fault).removeprefix(at))
    return f"[bold]{escape(at)}[/]{told}"


def _flow_of(file: str) -> Any:
    """The flow of FILE; a model is not needed to draw it."""
    if is_yaml(file):
        return load(file, model=StandIn({})).workflow.bound.flow
    return as_workflow(named(file), file, StandIn({})).bound.flow


def png_of(svg: str) -> bytes:
    """An SVG as a PNG. Raises MissingExtra without the package that draws it."""
    try:
        import resvg_py
    except ImportError:
        raise MissingExtra("resvg-py", "png") from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=SCALE))

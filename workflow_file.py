"""Workflows in files: the composition root of the YAML form.

What a file names by import path is imported when it is read, whatever that does: read files that you trust.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .core.errors import DefinitionError, Fault, MissingExtra
from .graphs.step import as_part
from .spec.diagnostics import Diagnostic, Place, SpecError, diagnostic
from .spec.document import Document, document_schema, read_document, written_document
from .spec.emit import emitted
from .spec.imports import Importer
from .spec.kinds import Book, Reading, Schemas, Writing
from .spec.locate import Located
from .spec.record import named_place
from .spec.source import read_text
from .spec.tree import Node, found
from .workflow import Workflow
from .workflow_forms import REGISTRY
from .workflow_models import Cast, for_checking, for_running
from .workflow_source import Source, importer_beside, read_source, source_of_text


@dataclass(frozen=True)
class Origin:
    """What a loaded workflow was read from, and which models stand in for which of the file."""

    document: Document
    cast: Cast = field(default_factory=Cast)


class LoadedWorkflow(Workflow):
    """A workflow from a file."""

    def __init__(self, origin: Origin, **options: Any) -> None:
        super().__init__(**options)
        self.origin = origin

    @property
    def notice(self) -> str:
        """Says so when scripted replies play because there is no model; else empty."""
        return self.origin.cast.notice

    def replace(self, **changes: Any) -> Any:
        options = super().replace(**changes)._options
        cast = replace(self.origin.cast, notice="") if "model" in changes else self.origin.cast
        return LoadedWorkflow(replace(self.origin, cast=cast), **options)


def load_workflow(
    source: str | Path, *, model: Any = None, importer: Importer | None = None, **changes: Any
) -> LoadedWorkflow:
    """The workflow of a .yaml file; `changes` are options of Workflow that count instead of the file's.

    `model` stands in for every model that the file names. Without one, and where the file names none that
    can be made (as without its key), the file's `mock` plays, and the workflow's `notice` says so.
    `importer` finds what import paths name, by default whatever is installed or lies beside the file; give
    `limited("package")` for files that you do not trust to import. Raises SpecError with every fault.
    """
    return _loaded(read_source(Path(source)), model, changes, importer)


def workflow_from_text(
    text: str,
    *,
    name: str = "<text>",
    model: Any = None,
    importer: Importer | None = None,
    **changes: Any,
) -> LoadedWorkflow:
    """The workflow of a YAML text, as by `load_workflow`; its includes lie in the current folder."""
    return _loaded(source_of_text(text, name), model, changes, importer)


def check_workflow(source: str | Path, *, importer: Importer | None = None) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a .yaml file, in its order. Needs no model, no key and no server.

    What the file names by import path is imported, as by `load_workflow`.
    """
    return _checked(read_source(Path(source)), importer)


def check_text(
    text: str, *, name: str = "<text>", importer: Importer | None = None
) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a YAML text; see `check_workflow`."""
    return _checked(source_of_text(text, name), importer)


def workflow_to_yaml(workflow: Workflow[Any], *, model: str | None = None) -> str:
    """A workflow as YAML that loads as an equal one; `model` is written in place of its own, as in
    "openai:gpt-5-mini" for one that is scripted here.

    Raises DefinitionError that names each thing which no file can hold: a lambda, a function inside
    another, an object that no module binds to a name.
    """
    document, cast = _document_of(workflow)
    own = workflow._options["model"]
    names = cast.names if model is None else {**cast.names, id(own): model}
    at = Writing(REGISTRY, [], {}, own, names)
    written = written_document(document, at)
    if at.faults:
        raise DefinitionError(at.faults)
    text = emitted(written)
    if faults := read_text(text, document.name, {}).faults:
        raise DefinitionError([Fault(one.path, one.message) for one in faults])
    return text


def workflow_schema() -> dict[str, Any]:
    """The JSON Schema of the YAML form, as published in `spec/plait.schema.json` for editors."""
    return document_schema(Schemas(REGISTRY))


def _document_of(workflow: Workflow[Any]) -> tuple[Document, Cast]:
    origin = getattr(workflow, "origin", None) or Origin(Document(None))
    options = {name: value for name, value in workflow._options.items() if name not in ("flow", "name")}
    if origin.cast.names.get(id(options["model"])) == "":
        del options["model"]
    flow = as_part(workflow._options["flow"])
    return replace(origin.document, flow=flow, options=options, name=workflow.name), origin.cast


def _loaded(
    source: Source, model: Any, changes: Mapping[str, Any], importer: Importer | None
) -> LoadedWorkflow:
    finder = importer or importer_beside(source.folder)
    cast = for_running(source.root, model, finder)
    document, faults = _read(source, cast, finder)
    if document is not None:
        options = {"model": cast.model, **document.options, **changes}
        made = _made(source, document, Origin(document, cast), options, faults)
        if made is not None and not faults.told:
            return made
    raise SpecError(faults.sorted)


def _checked(source: Source, importer: Importer | None) -> tuple[Diagnostic, ...]:
    cast = for_checking()
    document, faults = _read(source, cast, importer or importer_beside(source.folder))
    if document is not None:
        options = {"model": cast.model, **document.options}
        _made(source, document, Origin(document, cast), options, faults)
    return tuple(faults.sorted)


NEEDED = (
    "there is no model: give the spec a model or a mock, set OPENAI_API_KEY, or load the file with model="
)


UNSURE = ("unknown-name", "missing-key", "wrong-type", "unused-unit")
"""Faults that may be none when a file that is included could not be read."""


@dataclass
class _Faults:
    """What is wrong with a file, and the book that knows where its parts stand."""

    book: Book
    told: list[Diagnostic]
    file: str

    @property
    def sorted(self) -> list[Diagnostic]:
        """Each once, in the order of the file; those of included files after."""
        unique = dict.fromkeys(self.told)
        return sorted(unique, key=lambda one: (one.file != self.file, one.file, one.line, one.column))


def _read(source: Source, cast: Cast, importer: Importer) -> tuple[Document | None, _Faults]:
    book = Book(REGISTRY, importer, play=cast.play, model=cast.model)
    document = None if source.root is None else read_document(source.root, Reading(book))
    is_partial = any(fault.code == "include" for fault in source.faults)
    told = [fault for fault in book.faults if not (is_partial and fault.code in UNSURE)]
    return document, _Faults(book, [*source.faults, *cast.faults, *told], source.name)


def _made(
    source: Source, document: Document, origin: Origin, options: Mapping[str, Any], faults: _Faults
) -> LoadedWorkflow | None:
    """The workflow, or None with its faults added where they stand in the file."""
    root = source.root
    assert root is not None
    try:
        return LoadedWorkflow(origin, flow=document.flow, name=document.name, **options)
    except DefinitionError as error:
        lacking = [fault for fault in error.faults if fault.message.startswith("no model")]
        unmade = [fault for fault in error.faults if fault.message.startswith("model ") and not fault.path]
        rest = [fault for fault in error.faults if fault not in (*lacking, *unmade)]
        faults.told += Located(document.flow, faults.book, _spec(root)).told(rest)
        is_needed = bool(lacking) and not any(one.path.startswith("spec.mock") for one in faults.told)
        messages = [fault.message for fault in unmade] + [NEEDED] * is_needed
        faults.told += [diagnostic("model", one, _place_of("model", root), "spec.model") for one in messages]
    except MissingExtra as error:
        faults.told.append(diagnostic("model", str(error), _place_of("model", root), "spec.model"))
    except Exception as error:  # what the file names by import path is asked about its types and roles
        told = f"making the workflow raised {type(error).__name__}: {error!s:.300}"
        faults.told.append(diagnostic("definition", told, _spec(root).place, "spec"))
    return None


def _spec(root: Node) -> Node:
    return found(root, ["spec"])


def _place_of(key: str, root: Node) -> Place:
    named = named_place(key, _spec(root))
    return named if isinstance(named, Place) else _spec(root).place

"""Which models play the workflow of a file: its own, one that is given, or its scripted replies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.language_models import BaseChatModel

from .adapters.models import CLASSES, model_from_env, resolve_model
from .core.errors import DefinitionError, MissingExtra
from .spec.diagnostics import Diagnostic, diagnostic
from .spec.imports import Importer
from .spec.kinds import BAD, Book, Reading
from .spec.tree import Node, Scalar, Table, found, nodes
from .testing import ScriptedModel
from .testing.script import Script
from .workflow_forms import REGISTRY, scripted

NO_MODEL = "There is no model: the file names none and OPENAI_API_KEY is not set."


@dataclass(frozen=True)
class Cast:
    """The models that play. `model` plays where the file names none, `play` gives the one for a name.

    `names` are the names in the file of the models that stand in, by their ids; `held` keeps them.
    `faults` say which models of the file cannot be made.
    """

    model: Any = None
    play: Callable[[str], Any] | None = None
    notice: str = ""
    names: dict[int, str] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)
    faults: tuple[Diagnostic, ...] = ()


class StandIn(ScriptedModel):
    """A scripted model in the place of any other, which thinks at whatever level that one is asked to."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)

    def at_thinking_level(self, level: str) -> Any:
        return self


def for_running(root: Node | None, given: Any, importer: Importer) -> Cast:
    """The cast of a run: `given` if there is one, else the file's models, else its mock."""
    if given is not None:
        return _standing_in(given)
    spec = root and found(root, ["spec"])
    if not isinstance(spec, Table):
        return Cast()
    named = _named(spec)
    from_env = None if named else model_from_env()
    if from_env is not None:
        return _standing_in(from_env)
    faults = tuple(fault for node in named if (fault := _fault(node)))
    if named and not faults:
        return Cast()
    mock = _mock(spec, importer)
    if mock is not None:
        why = f"{faults[0].message.rstrip('.')}." if faults else NO_MODEL
        return _played(mock, spec, f"{why} The file's scripted replies play instead.")
    return replace(_standing_in(StandIn({})), faults=faults) if faults else Cast()


def for_checking() -> Cast:
    """A cast that needs no key and no package, for a workflow that is only looked at."""
    return _standing_in(StandIn({}))


def _standing_in(model: Any, notice: str = "") -> Cast:
    names: dict[int, str] = {id(model): ""}
    held = [model]

    def play(name: str) -> Any:
        double = model.model_copy() if hasattr(model, "model_copy") else model
        held.append(double)
        if double is not model:
            names[id(double)] = name
        return double

    return Cast(model, play, notice, {} if isinstance(model, str) else names, held)


def _named(spec: Table) -> list[Scalar]:
    """Where a file names models, each of them once."""
    tops = [entry for entry in spec.entries if entry.key != "mock"]
    below = [
        entry
        for top in tops
        for node in nodes(top.value)
        if isinstance(node, Table)
        for entry in node.entries
    ]
    values = (entry.value for entry in (*tops, *below) if entry.key == "model")
    texts = (node for node in values if isinstance(node, Scalar) and isinstance(node.value, str))
    named = {node.value: node for node in texts if node.value.partition(":")[0] in CLASSES}
    return list(named.values())


def _fault(node: Scalar) -> Diagnostic | None:
    """Why a model cannot be made here, as without its key."""
    try:
        resolve_model(node.value)
    except DefinitionError as error:
        return diagnostic("model", error.faults[0].message.splitlines()[0], node.place)
    except MissingExtra as error:
        return diagnostic("model", str(error), node.place)
    return None


def _mock(spec: Table, importer: Importer) -> Any:
    entry = spec.get("mock")
    mock = None if entry is None else REGISTRY.mock.read(entry.value, Reading(Book(REGISTRY, importer)))
    return None if mock is BAD else mock


def _played(mock: Any, spec: Table, notice: str) -> Cast:
    try:
        return _standing_in(_player(mock), notice)
    except Exception as error:  # a function that the file names makes it
        told = f"making the scripted model raised {type(error).__name__}: {error!s:.200}"
        entry = spec.get("mock")
        fault = diagnostic("import-failed", told, entry.place if entry else spec.place, "spec.mock")
        return replace(for_checking(), faults=(fault,))


def _player(mock: Any) -> Any:
    """The model that plays the scripted replies of a file."""
    made = scripted(mock)
    return made if isinstance(made, BaseChatModel) else StandIn(made)

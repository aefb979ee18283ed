"""FILE on the command line: a workflow in a .yaml file, or in Python by `module:attribute`."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core.errors import DefinitionError
from ..graphs.step import as_part
from ..workflow import Workflow
from ..workflow_file import load_workflow

YAML = (".yaml", ".yml")
FORMS = "give a .yaml file, a `file.py:attribute` or a `package.module:attribute`"


@dataclass(frozen=True)
class Target:
    """What FILE named: the workflow, and what there is to say of it."""

    name: str
    workflow: Workflow[Any]
    notice: str = ""


def is_target(text: str) -> bool:
    """Whether a word looks like a FILE, and not like a thread."""
    module, colon, attribute = text.rpartition(":")
    dotted = all(piece.isidentifier() for piece in module.split("."))
    named = bool(colon) and attribute.isidentifier() and (module.endswith(".py") or dotted)
    return is_yaml(text) or named


def is_yaml(text: str) -> bool:
    return Path(text).suffix.lower() in YAML


def load(text: str, *, model: Any = None, **changes: Any) -> Target:
    """The workflow that FILE names, with other options. Raises DefinitionError, SpecError for a YAML file."""
    if is_yaml(text):
        loaded = load_workflow(text, model=model, **changes)
        return Target(text, loaded, loaded.notice)
    found = as_workflow(named(text), text, model)
    given = {**changes, **({"model": model} if model else {})}
    return Target(text, found.replace(**given) if given else found)


def named(text: str) -> Any:
    """The object that `module:attribute` names; a module alone is searched for its one workflow."""
    where, colon, attribute = text.rpartition(":")
    if not colon and text.endswith(".py"):
        return _only_workflow(_module(text, text), text)
    if not colon:
        raise DefinitionError(f"{text!r} names no workflow: {FORMS}")
    found: Any = _module(where, text)
    try:
        for name in attribute.split("."):
            found = getattr(found, name)
    except AttributeError as error:
        raise DefinitionError(f"{text}: {error}") from error
    return found


def as_workflow(found: Any, text: str, model: Any) -> Workflow[Any]:
    """A workflow, or what makes one: a flow, a unit, or a function without needed parameters."""
    if isinstance(found, Workflow):
        return found
    if inspect.isfunction(found) and not _needs_arguments(found):
        found = _made(found, text)
        if isinstance(found, Workflow):
            return found
    if hasattr(found, "parts") or hasattr(found, "prompt"):
        return Workflow(as_part(found), model=model, name=text.rpartition(":")[2])
    told = f"{text} is {type(found).__name__}, and no workflow"
    raise DefinitionError(f"{told}: name a Workflow, a flow, a unit, or a function that needs no arguments")


def _made(function: Any, text: str) -> Any:
    try:
        return function()
    except DefinitionError:
        raise
    except (Exception, SystemExit) as error:
        raise DefinitionError(
            f"{text} makes no workflow: it raised {type(error).__name__}: {error}"
        ) from error


def _needs_arguments(function: Any) -> bool:
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(one.default is one.empty and one.kind not in kinds for one in parameters)


def _only_workflow(module: ModuleType, text: str) -> Any:
    found = [name for name, value in vars(module).items() if isinstance(value, Workflow)]
    if len(found) != 1:
        told = ", ".join(f"{text}:{name}" for name in found) or "none"
        raise DefinitionError(f"{text} has to hold one Workflow to be named alone; it holds: {told}")
    return getattr(module, found[0])


def _module(where: str, text: str) -> ModuleType:
    """The module; what lies beside it, or in the current folder, can be imported from it."""
    path = Path(where)
    folder = str(path.resolve().parent) if where.endswith(".py") else str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _from_file(path) if where.endswith(".py") else import_module(where)
    except DefinitionError:
        raise
    except SystemExit as error:
        raise DefinitionError(f"{text} cannot be imported: it called sys.exit({error.code!r})") from error
    except Exception as error:
        raise DefinitionError(f"{text} cannot be imported: {type(error).__name__}: {error}") from error


def _from_file(path: Path) -> ModuleType:
    """A file as the module of its name, so that classes in it are found again in another process."""
    if not path.is_file():
        raise DefinitionError(f"{path}: there is no such file; {FORMS}")
    loaded = sys.modules.get(path.stem)
    if loaded is not None and _is_file(loaded, path):
        return loaded
    if loaded is None:
        found = importlib.util.spec_from_file_location(path.stem, path.resolve())
        assert found is not None
        assert found.loader is not None
        module = sys.modules[path.stem] = importlib.util.module_from_spec(found)
        try:
            found.loader.exec_module(module)
        except BaseException:
            del sys.modules[path.stem]
            raise
        return module
    raise DefinitionError(f"{path}: a module {path.stem!r} is loaded already; give the file another name")


def _is_file(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()

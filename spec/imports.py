"""Things by import path, `package.module:name`: found by a file, and named again when one is written."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

PATH = r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_PATH = re.compile(PATH)

Importer = Callable[[str], Any]
"""Finds what an import path names. Raises Unimportable."""


class Unimportable(Exception):
    """What an import path names cannot be had; `nearest` is a name that it may have meant."""

    def __init__(self, message: str, nearest: str = "") -> None:
        super().__init__(message)
        self.nearest = nearest


def is_path(text: str) -> bool:
    return _PATH.fullmatch(text) is not None


def imported(path: str) -> Any:
    """What an import path names. The module's code runs, whatever it is. Raises Unimportable."""
    module_name, _, names = path.partition(":")
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        raise Unimportable(
            f"there is no module {error.name!r}; install it, or mend the path {path!r}"
        ) from error
    except (Exception, SystemExit) as error:  # a module runs code of its own
        raise Unimportable(f"module {module_name!r} raised {type(error).__name__}: {error!s:.200}") from error
    for name in names.split("."):
        try:
            found = getattr(found, name)
        except Exception as error:  # a module's __getattr__, a class's property
            from .diagnostics import nearest

            near = nearest(name, _public(found))
            raise Unimportable(
                f"{module_name!r} has no {names!r}", near and path.replace(name, near)
            ) from error
    return found


def limited(*modules: str) -> Importer:
    """An importer for files of others: only these modules, and what lies below them, are ever imported."""

    def found(path: str) -> Any:
        module = path.partition(":")[0]
        if not any(module == one or module.startswith(f"{one}.") for one in modules):
            allowed = ", ".join(modules) or "none"
            raise Unimportable(f"module {module!r} may not be imported here; allowed are: {allowed}")
        return imported(path)

    return found


def _public(found: Any) -> list[str]:
    return [name for name in dir(found) if not name.startswith("_")]


class Namer:
    """Names things by import path. Loaded modules are looked through once, when it is first needed."""

    def path_of(self, value: Any) -> str | None:
        """The import path that gives this very object, or None: for what is local, or made on the way."""
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str):
            path = f"{module}:{name}"
            return path if module != "__main__" and _gives(path, value) else None
        path = self._bound.get(id(value), "")
        return path if path and _gives(path, value) else None

    @cached_property
    def _bound(self) -> dict[int, str]:
        """The first name by which a loaded module binds an object, by the object's id."""
        found: dict[int, str] = {}
        for module_name, module in sorted(sys.modules.items()):
            if isinstance(module, ModuleType) and module_name != "__main__":
                for name, held in list(vars(module).items()):
                    found.setdefault(id(held), f"{module_name}:{name}")
        return found


def _gives(path: str, value: Any) -> bool:
    if not is_path(path):
        return False
    module_name, _, names = path.partition(":")
    found: Any = sys.modules.get(module_name)
    for name in names.split("."):
        found = getattr(found, name, None)
    return found is value

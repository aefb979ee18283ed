"""What draws itself in a notebook. The pictures are made in `plait.view`, which is looked up when asked."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar


class Displayed:
    """A value that a notebook shows as a picture or table; `_display` names what makes it.

    `module:function` of `plait.view`, which is imported when a notebook asks, so that nothing else pays.
    """

    __slots__ = ()

    _display: ClassVar[str]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        module, _, function = self._display.partition(":")
        bundle: dict[str, str] = getattr(named(f"view.{module}"), function)(self)
        return bundle


def named(module: str) -> Any:
    """A module of this package that stands in a higher layer."""
    package = __package__.rpartition(".")[0]
    return import_module(f"{package}.{module}")

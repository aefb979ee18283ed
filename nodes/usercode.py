"""Calling what the user wrote: whatever it raises is told with its name and place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from langgraph.errors import GraphBubbleUp

from ..core.errors import PlaitError, RunError
from ..core.snapshot import Snapshot


def called(what: str, function: Callable[[Snapshot], Any], snapshot: Snapshot) -> Any:
    """What a function of the Snapshot gives.

    Raises RunError with reason `error`, naming `what` and the unit's path, when it raises.
    """
    try:
        return function(snapshot)
    except (GraphBubbleUp, PlaitError):
        raise
    except Exception as error:
        told = f"{what} raised {type(error).__name__}: {error}"
        raise RunError(told, path=snapshot.path) from error


def async_fault(what: str, function: Any) -> str | None:
    """Why a function cannot be used where its result is needed at once, or None."""
    is_async = inspect.iscoroutinefunction(function) or (
        callable(function) and inspect.iscoroutinefunction(type(function).__call__)
    )
    return f"{what} must not be async: it is asked, never awaited" if is_async else None

"""Asking a flow what runs next and how it ended, when the user's own conditions may raise.

A condition that raises is the flow's failure: nothing more runs in it, and its end says where and why.
"""

from __future__ import annotations

from typing import Any

from langgraph.errors import GraphBubbleUp

from ..core.errors import RunError
from ..core.snapshot import Snapshot
from .flow import FlowEnd, Visit


def visits(flow: Any, snapshot: Snapshot) -> tuple[Visit, ...]:
    """What runs now: `flow.next`, or nothing when a condition in it raises."""
    try:
        found: tuple[Visit, ...] = flow.next(snapshot)
    except GraphBubbleUp:
        raise
    except Exception:
        return ()  # `ending` meets the same error and tells it
    return found


def ending(flow: Any, snapshot: Snapshot) -> FlowEnd:
    """How the flow ended: `flow.end`, or failed with what a condition in it raised."""
    try:
        flow.next(snapshot)
        found: FlowEnd = flow.end(snapshot)
    except GraphBubbleUp:
        raise
    except RunError as error:
        return FlowEnd("failed", error.reason, str(error), error.path or snapshot.path)
    except Exception as error:
        told = f"a condition of the {flow.type} raised {type(error).__name__}: {error}"
        return FlowEnd("failed", "error", told, snapshot.path or str(flow.id or flow.type))
    return found

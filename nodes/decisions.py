"""What a person answers: decisions on a tool call, in the form of Agent Inbox's responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def approve(*, by: str | None = None) -> dict[str, Any]:
    """Run the call as it is. `by` is who decided; it is kept in the run's record.

    >>> approve(by="mei")
    {'type': 'accept', 'args': None, 'by': 'mei'}
    """
    return _signed({"type": "accept", "args": None}, by)


def edit(args: Mapping[str, Any], *, by: str | None = None) -> dict[str, Any]:
    """Run the call with `args`, all of them, instead; they are checked against the tool's schema."""
    return _signed({"type": "edit", "args": {"action": "", "args": dict(args)}}, by)


def reject(why: str | None = None, *, by: str | None = None) -> dict[str, Any]:
    """Do not run the call; the model is told `why`."""
    return _signed({"type": "ignore", "args": why}, by)


def respond(text: str, *, by: str | None = None) -> dict[str, Any]:
    """Do not run the call; `text` is its result."""
    return _signed({"type": "response", "args": text}, by)


def _signed(response: dict[str, Any], by: str | None) -> dict[str, Any]:
    return response if by is None else {**response, "by": by}

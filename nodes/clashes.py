"""Calls of one reply that ran side by side and wrote one state key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.state import conflicts
from ..core.stateschema import StateSchema
from .invoke import CallResult


def without_clashes(results: Sequence[CallResult], schema: StateSchema) -> list[CallResult]:
    """`results`, where a call that wrote a key which an earlier one wrote too keeps no write.

    Its answer says so, marked as an error, for neither could know of the other. Keys with a reducer
    are merged and clash with nothing.
    """
    kept: list[CallResult] = []
    for result in results:
        clashing = {key for held in kept for key in conflicts([held.writes, result.writes], schema)}
        kept.append(_refused(result, sorted(clashing)) if clashing else result)
    return kept


def _refused(result: CallResult, keys: Sequence[str]) -> CallResult:
    names = ", ".join(repr(key) for key in keys)
    told = (
        f"{result.message.name} ran, but what it wrote into state is not kept: another call of this reply "
        f"wrote {names} too. Its result was: {result.message.text}"
    )
    message = result.message.model_copy(update={"content": told, "status": "error"})
    return replace(result, message=message, writes=())

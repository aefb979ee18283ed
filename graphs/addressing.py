"""Which addresses can reach a unit of a definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from ..core.addresses import ANY_SEGMENTS, ANY_TEXT, parse_address
from ..core.errors import PlaitError
from ..core.paths import join
from ..nodes.unit import WorkflowUnit
from .delegation import DelegationFlow
from .executors import Executors
from .flow import Flow

NEAREST = 5


def check_address(flow: Any, address: str) -> None:
    """Raise PlaitError, naming the nearest right ones, for an address that no unit of `flow` can have.

    Paths that are made while a flow runs, those of planned steps, may be anything.
    """
    wanted = parse_address(address)
    units = list(_units(flow, ""))
    if not any(wanted.may_match(place, unit) for place, unit in units):
        raise PlaitError(f"address {address!r} can reach no unit; {_told(address, units)}")


def _units(part: Any, place: str) -> Iterator[tuple[str, str]]:
    """The units below `part`: where each stands, as a pattern where that is not fixed, and its id."""
    if isinstance(part, WorkflowUnit):
        yield place or part.id, part.id
    elif isinstance(part, Flow):
        for key, child in part.parts.items():
            yield from _units(child, _place(part, key, place))


def _place(flow: Flow, key: str, place: str) -> str:
    if isinstance(flow, DelegationFlow) and flow.max_depth > 1:
        return join(join(place, ANY_SEGMENTS), key)  # whoever delegated stands before it
    if isinstance(flow, Executors) and flow.dependencies is None and key in flow.executors:
        return join(place, ANY_TEXT)  # the plan names its steps
    return flow.place_of(key, place)


def _told(address: str, units: Sequence[tuple[str, str]]) -> str:
    if any(place.startswith(f"{address}/") for place, _ in units):
        return f"it is a flow: {address}/{ANY_SEGMENTS} reaches every unit in it"
    known = list(dict.fromkeys(name for names in units for name in names))
    near = get_close_matches(address, known, NEAREST, 0.5) or known[:NEAREST]
    return f"the nearest are: {', '.join(near)}" if near else "the workflow has no unit"

"""The state keys that units say they write and read, held against the order in which they can run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from ..core.errors import Fault, PlaitError
from ..core.stateschema import UNTYPED, StateSchema, state_schema
from ..nodes.unit import WorkflowUnit
from .flow import Flow, walk
from .region import Region


def key_faults(flow: Any, state: Any) -> list[Fault]:
    """Two units that may run at the same time and write one key that has no reducer, keys that are read
    though nothing before writes them, and keys that the typed state does not have."""
    schema = _schema(state)
    return [
        *_unknown_faults(flow, schema),
        *_write_faults(flow, "", schema),
        *_read_faults(flow, "", frozenset(schema.hints), schema),
    ]


def _schema(state: Any) -> StateSchema:
    try:
        return state_schema(state)
    except PlaitError:
        return UNTYPED  # told where the state is read


def _unknown_faults(flow: Any, schema: StateSchema) -> Iterator[Fault]:
    for path, part in walk(flow) if schema.hints else ():
        for word, key in _named_keys(part):
            if key not in schema.hints:
                near = get_close_matches(key, schema.hints, 1, 0.5)
                known = f"the nearest is {near[0]!r}" if near else f"it has {', '.join(sorted(schema.hints))}"
                told = f"{word}=: the state has no key {key!r}; {known}"
                yield Fault(path or str(getattr(part, "id", None) or part.type), told)


def _named_keys(part: Any) -> Iterator[tuple[str, str]]:
    """The state keys that a part names, each with the option that names it."""
    if isinstance(part, WorkflowUnit):
        yield from (("writes", key) for key in part.writes)
        if isinstance(part.output_adapter, str):
            yield "output_adapter", part.output_adapter
    over = getattr(part, "over", None)
    if isinstance(over, str):
        yield "over", over


def written_by(unit: WorkflowUnit[Any]) -> tuple[str, ...]:
    """The keys a unit says that it writes; an output adapter that is a key says so too."""
    adapter = unit.output_adapter
    return tuple(dict.fromkeys((*unit.writes, *([adapter] if isinstance(adapter, str) else []))))


def _writers(part: Any, path: str) -> dict[str, str]:
    """Every key written in a part, with the path of the first unit that writes it."""
    if isinstance(part, WorkflowUnit):
        return dict.fromkeys(written_by(part), path or part.id)
    found: dict[str, str] = {}
    for key, child in part.parts.items() if isinstance(part, Flow) else ():
        found = {**_writers(child, part.place_of(key, path)), **found}
    return found


def _write_faults(part: Any, path: str, schema: StateSchema) -> Iterator[Fault]:
    if not isinstance(part, Flow):
        return
    places = {key: part.place_of(key, path) for key in part.parts}
    writers = {key: _writers(child, places[key]) for key, child in part.parts.items()}
    for one, other in part.unordered if isinstance(part, Region) else ():
        for key in writers[one].keys() & writers[other].keys():
            if not schema.has_reducer(key):
                yield Fault(writers[one][key], _conflict(key, writers[one][key], writers[other][key]))
    for key, child in part.parts.items():
        yield from _write_faults(child, places[key], schema)


def _conflict(key: str, one: str, other: str) -> str:
    who = "each of its items" if one == other else other
    return (
        f"writes the state key {key!r}, and so does {who}, at the same time perhaps; "
        f"declare a reducer for it, write different keys, or order the parts"
    )


def _read_faults(part: Any, path: str, known: frozenset[str], schema: StateSchema) -> Iterator[Fault]:
    """`known`: the keys that are there when the part begins."""
    if isinstance(part, WorkflowUnit):
        for key in part.reads:
            if key not in known:
                told = f"reads the state key {key!r}, which nothing before it writes"
                yield Fault(path or part.id, f"{told}; declare writes= or state=")
    if not isinstance(part, Flow):
        return
    before = _before(part)
    for key, child in part.parts.items():
        written = {name for other in before[key] for name in _writers(part.parts[other], "")}
        yield from _read_faults(child, part.place_of(key, path), known | written, schema)


def _before(flow: Any) -> Mapping[str, set[str]]:
    """The parts that may have run before a part begins, by its key."""
    sources: dict[str, set[str]] = {key: set() for key in flow.parts}
    for edge in flow.edges:
        if edge.source in sources and edge.target in sources:
            sources[edge.target].add(edge.source)
    for through in sources:
        for found in sources.values():
            if through in found:
                found |= sources[through]
    return sources

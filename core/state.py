"""SharedState: what the steps of a workflow share, by scope, validated and encoded when written.

Scopes: `workflow` (this workflow's keys, kept on the thread), `unit` (one unit's own, kept on the
thread), `session` (every workflow of the thread), `global` (every thread, in the store), and
`outputs` (this turn's outputs by path) and `flow:PATH` (what a flow keeps account of), which nobody
writes: they are read from the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Literal

from .codec import decode, encode
from .errors import PlaitError
from .stateschema import UNTYPED, StateSchema

Operation = Literal["set", "merge", "delete"]
Values = Mapping[str, Mapping[str, Any]]
"""Plain values by scope and key."""

READ_ONLY = ("outputs", "flow:")


@dataclass(frozen=True, slots=True)
class StateWrite:
    """One write: `merge` goes through the key's reducer, `set` replaces, `delete` removes."""

    scope: str
    key: str
    value: Any = None
    operation: Operation = "set"
    path: str = ""

    def to_plain(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _WRITTEN}


_WRITTEN = tuple(f.name for f in fields(StateWrite))


def fold(values: Values, writes: Iterable[StateWrite], schema: StateSchema = UNTYPED) -> Values:
    """`values` after `writes`, in order. Neither argument is changed."""
    folded: dict[str, Mapping[str, Any]] = dict(values)
    for write in writes:
        scope = dict(folded.get(write.scope, {}))
        old = scope.get(write.key, schema.start(write.key)) if write.operation == "merge" else None
        if write.operation == "delete":
            scope.pop(write.key, None)
        elif old is not None:
            scope[write.key] = schema.merged(write.key, old, write.value)
        else:
            scope[write.key] = write.value
        folded[write.scope] = scope
    return folded


class SharedState:
    """A view of the state for one reader or writer. Writes are visible to it at once.

    What it wrote is in `writes`; the framework commits those as one transaction when the unit
    ends. Raises PlaitError on writing a read-only view, ValueRefused for a value that cannot
    cross a checkpoint, ValidationError where a typed state refuses it.
    """

    def __init__(
        self,
        values: Values,
        *,
        path: str = "",
        unit: str = "",
        schema: StateSchema = UNTYPED,
        writes: list[StateWrite] | None = None,
        scope: str = "workflow",
        writable: bool = True,
    ) -> None:
        self._base = values
        self._path = path
        self._unit = unit
        self._schema = schema
        self._scope = scope
        self._writable = writable
        self.writes: list[StateWrite] = [] if writes is None else writes

    def get(self, key: str, default: Any = None) -> Any:
        """The value under `key`, else the typed state's default, else `default`."""
        values = self._values()
        if key in values:
            return self._decoded(key, values[key])
        if self._scope == "workflow":
            return self._schema.default(key, default)
        return default

    def has(self, key: str) -> bool:
        return key in self._values()

    def set(self, key: str, value: Any) -> None:
        """Write `value`; a key with a reducer merges it into what is there."""
        self._check_writable(key)
        if self._scope == "workflow":
            value = self._schema.validated(key, value)
        plain = _apart(encode(value, key, self._schema.types))
        reduced = self._scope == "workflow" and self._schema.has_reducer(key)
        self._write(key, plain, "merge" if reduced else "set")

    def delete(self, key: str) -> None:
        self._check_writable(key)
        self._write(key, None, "delete")

    def snapshot(self) -> dict[str, Any]:
        """All keys of this scope with their values."""
        return {key: self._decoded(key, plain) for key, plain in self._values().items()}

    def scope(self, name: str) -> SharedState:
        """The same state seen in another scope; `unit` is the writer's own."""
        view = SharedState(
            self._base,
            path=self._path,
            unit=self._unit,
            schema=self._schema,
            writes=self.writes,
            scope=scope_key(name, self._unit),
            writable=self._writable,
        )
        return view

    @contextmanager
    def transaction(self) -> Iterator[SharedState]:
        """All writes of the block, or none when it raises."""
        before = len(self.writes)
        try:
            yield self
        except BaseException:
            del self.writes[before:]
            raise

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __contains__(self, key: object) -> bool:
        return key in self._values()

    def __getitem__(self, key: str) -> Any:
        declared = self._scope == "workflow" and key in self._schema.defaults
        if key not in self._values() and not declared:
            raise KeyError(key)
        return self.get(key)

    def __repr__(self) -> str:
        return f"SharedState({self._scope}: {sorted(self)})"

    def _decoded(self, key: str, plain: Any) -> Any:
        return decode(_apart(plain), key, self._schema.types)

    def _values(self) -> Mapping[str, Any]:
        mine = [write for write in self.writes if write.scope == self._scope]
        return (
            fold(self._base, mine, self._schema).get(self._scope, {})
            if mine
            else self._base.get(self._scope, {})
        )

    def _write(self, key: str, plain: Any, operation: Operation) -> None:
        self.writes.append(StateWrite(self._scope, key, plain, operation, self._path))

    def _check_writable(self, key: str) -> None:
        if not isinstance(key, str) or not key:
            raise PlaitError(f"a state key must be a non-empty text, not {key!r}")
        if self._scope.startswith(READ_ONLY) or not self._writable:
            raise PlaitError(f"state scope {self._scope!r} cannot be written here (key {key!r})")


def _apart(plain: Any) -> Any:
    """A copy of a plain value, so that a list or dict changed in place changes no state."""
    if isinstance(plain, dict):
        return {key: _apart(item) for key, item in plain.items()}
    return [_apart(item) for item in plain] if isinstance(plain, list) else plain


def scope_key(name: str, unit: str) -> str:
    """The stored name of a scope: `unit` belongs to one unit, the others are shared."""
    return f"unit:{unit}" if name == "unit" else name


def conflicts(
    branches: Sequence[Iterable[StateWrite]], schema: StateSchema = UNTYPED
) -> dict[str, tuple[str, ...]]:
    """Keys that more than one branch writes, with the paths that write them; merges of a key that
    has a reducer agree with each other, though not with a write that replaces or deletes it."""
    writers: dict[str, dict[int, str]] = {}
    replaced: set[str] = set()
    for number, branch in enumerate(branches):
        for write in branch:
            name = write.key if write.scope == "workflow" else f"{write.scope}/{write.key}"
            writers.setdefault(name, {}).setdefault(number, write.path)
            if write.operation != "merge" or not schema.has_reducer(write.key):
                replaced.add(name)
    return {
        key: tuple(paths.values()) for key, paths in writers.items() if len(paths) > 1 and key in replaced
    }

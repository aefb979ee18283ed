"""JSON values of any depth: copied and written with a stack of their own, not Python's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def as_json(value: Any, *, sort_keys: bool = False) -> str:
    """JSON text of any value, at any depth; what is no JSON goes in as its `str`.

    Lone surrogates become escapes, so that the text can always be encoded.
    """
    try:
        written = json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, default=str)
    except (TypeError, RecursionError):
        written = _flat_json(value, sort_keys)
    return written.encode("utf-8", "backslashreplace").decode()


def copied(value: Any) -> Any:
    """A deep copy of mappings and sequences as dicts and lists; other values stay as they are."""
    return _rebuilt(value, strict=False)


def plain(value: Any) -> Any:
    """A deep copy in JSON's own types, as it would arrive over the wire.

    Raises TypeError for a value or key that JSON does not have.
    """
    return _rebuilt(value, strict=True)


def _rebuilt(value: Any, *, strict: bool) -> Any:
    root = [value]
    unread: list[Any] = [root]
    while unread:
        box = unread.pop()
        for key, item in box.items() if isinstance(box, dict) else enumerate(box):
            if isinstance(item, (Mapping, list, tuple)):
                box[key] = _opened(item, strict)
                unread.append(box[key])
            elif strict:
                box[key] = _scalar(item)
    return root[0]


def _opened(item: Any, strict: bool) -> dict[Any, Any] | list[Any]:
    if not isinstance(item, Mapping):
        return list(item)
    wrong = [key for key in item if type(key) is not str] if strict else []
    if wrong:
        raise TypeError(f"key {wrong[0]!r} is no string")
    return dict(item)


def _scalar(item: Any) -> Any:
    return item if type(item) in (str, int, float, bool, type(None)) else json.loads(json.dumps(item))


class _Written(str):
    """A piece of JSON text that is finished."""

    __slots__ = ()


def _flat_json(value: Any, sort_keys: bool) -> str:
    done: list[str] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, _Written):
            done.append(item)
        elif isinstance(item, (Mapping, list, tuple)):
            todo.extend(reversed(list(_parts(item, sort_keys))))
        else:
            done.append(json.dumps(item, ensure_ascii=False, default=str))
    return "".join(done)


def _parts(item: Any, sort_keys: bool) -> Iterator[Any]:
    """The brackets, commas and keys of one container, with its values still to write."""
    keyed = isinstance(item, Mapping)
    members = [(str(key), held) for key, held in item.items()] if keyed else [("", held) for held in item]
    if sort_keys and keyed:
        members.sort(key=lambda member: member[0])
    yield _Written("{" if keyed else "[")
    for at, (key, held) in enumerate(members):
        comma = ", " if at else ""
        yield _Written(f"{comma}{json.dumps(key, ensure_ascii=False)}: " if keyed else comma)
        yield held
    yield _Written("}" if keyed else "]")

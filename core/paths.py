"""Addresses of nodes: `deep/security[2]/actor`.

A segment is a step or handler key, else a unit id. `[n]` counts loop passes from 1,
`{n}` map items from 0, `~2` tells apart a part that stands twice. The root flow has no
segment, so a pass of a root loop marks the segment below it: `actor[2]`.
"""

from __future__ import annotations

import re

RESERVED = "/[]{}~*:|"
_PASS = re.compile(r"\[\d+\]")
_MARK = re.compile(r"\[\d+\]|\{\d*\}")


def id_fault(name: object) -> str | None:
    """Why `name` cannot be an id, or None when it can."""
    if not isinstance(name, str) or not name.strip():
        return f"an id must be a non-empty text, not {name!r}"
    if bad := sorted(set(name) & set(RESERVED)):
        return f"id {name!r} holds {' '.join(bad)}, which paths reserve; use other characters"
    if name.startswith("_"):
        return f"id {name!r} starts with an underscore, which is reserved; use another name"
    return None


def join(prefix: str, segment: str) -> str:
    """Put `segment` below `prefix`; a prefix that is only a pass mark moves behind it.

    >>> join("deep", "actor"), join("", "actor"), join("[2]", "actor")
    ('deep/actor', 'actor', 'actor[2]')
    """
    if not prefix:
        return segment
    if not segment:
        return prefix
    if "/" not in prefix and prefix.startswith("["):
        return f"{segment}{prefix}"
    return f"{prefix}/{segment}"


def pass_of(prefix: str, number: int) -> str:
    """The path of pass `number` (from 1) of the loop at `prefix`."""
    return f"{prefix}[{number}]"


def memory_key(path: str) -> str:
    """`path` without its loop passes: where a unit's transcript goes on between passes.

    >>> memory_key("deep/security[2]/actor")
    'deep/security/actor'
    """
    return _PASS.sub("", path)


def definition_key(path: str) -> str:
    """`path` without passes and map indexes: where the part stands in the definition.

    >>> definition_key("loop[2]/files{3}/read")
    'loop/files/read'
    """
    return _MARK.sub("", path)


def is_below(path: str, ancestor: str) -> bool:
    """Whether `path` is `ancestor` or lies under it. Everything lies under the root."""
    if not ancestor or path == ancestor:
        return True
    rest = path[len(ancestor) :] if path.startswith(ancestor) else ""
    return rest[:1] in ("/", "[", "{")

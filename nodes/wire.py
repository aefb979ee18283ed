"""Names on the wire: providers accept few characters in a tool's name, users give any."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

LONGEST = 64

_FINE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BAD = re.compile(r"[^A-Za-z0-9_-]+")


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Given name -> name on the wire: `[A-Za-z0-9_-]`, at most 64 characters, all different.

    A fine name stays itself. The others depend on nothing but the set of names: the same in every process.
    """
    given = list(dict.fromkeys(names))
    on_wire = {name: name for name in given if _FINE.fullmatch(name)}
    taken = set(on_wire)
    for name in sorted(set(given) - taken):
        on_wire[name] = _free_name(name, taken)
        taken.add(on_wire[name])
    return {name: on_wire[name] for name in given}


def given_names(on_wire: Mapping[str, str]) -> dict[str, str]:
    """The way back: name on the wire -> given name."""
    return {wire: given for given, wire in on_wire.items()}


def wire_name(name: str, salt: int = 0) -> str:
    """One name for the wire: itself when it is fine, else what is left of it and a hash of all of it."""
    if not salt and _FINE.fullmatch(name):
        return name
    mark = hashlib.sha256(f"{salt or ''}{name}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    rest = _BAD.sub("_", name).strip("_")[: LONGEST - len(mark) - 1] or "tool"
    return f"{rest}_{mark}"


def _free_name(name: str, taken: set[str]) -> str:
    salt = 0
    while (candidate := wire_name(name, salt)) in taken:
        salt += 1
    return candidate

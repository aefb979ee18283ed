"""Finding one's way in the schema map: where an error stands, what is due there, what would do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .jsonschema import LAX, Schema, resolved

Path = tuple[str | int, ...]

_HOPS = 32  # no honest schema needs as many steps to come to the point

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an error stands: its path in the arguments and what the schema says is due there.

    `due` is the same as the schema writes it; in `nodes` references are followed and a null beside one other
    choice is left out. `branch` names the member of an undiscriminated union in which the path goes on.
    """

    path: Path
    nodes: tuple[Schema, ...]
    due: tuple[Schema, ...] = ()
    lax: str | None = None
    branch: str = ""


def place_of(loc: Sequence[str | int], schema: Schema) -> Place:
    """Follow pydantic's `loc`, which mixes keys with names of union members, through the map."""
    nodes = _each(_choices(schema, schema))
    place, label = Place((), nodes, lax=_mark(nodes)), ""
    for part in loc:
        plain = [node for node in place.nodes if not _is_union(node)]
        due = _each(child for node in plain if (child := _child(node, part)) is not None)
        if due or not place.nodes or any(_takes(node, part) for node in plain):
            nodes = _each(choice for child in due for choice in _choices(child, schema))
            owned = any("properties" in node for node in plain)
            lax = _mark(nodes) or (_mark(plain) if owned else place.lax)
            place, label = Place((*place.path, part), nodes, due, lax, label or place.branch), ""
        elif any(_is_union(node) for node in place.nodes):
            nodes, tagged = _branches(place.nodes, part, schema)
            place, label = replace(place, nodes=nodes), "" if tagged else str(part)
    return place


def _choices(node: Schema, schema: Schema) -> list[Schema]:
    """`node` without references and without null beside one other choice."""
    for _ in range(_HOPS):
        node = resolved(node, schema)
        members = [member for member in _members(node) if resolved(member, schema).get("type") != "null"]
        if len(members) != 1:
            break
        node = members[0]
    return [node]


def _members(node: Schema) -> list[Schema]:
    return [member for member in node.get("anyOf") or node.get("oneOf") or [] if isinstance(member, dict)]


def _is_union(node: Schema) -> bool:
    return len(_members(node)) > 1


def _branches(nodes: Iterable[Schema], tag: str | int, schema: Schema) -> tuple[tuple[Schema, ...], bool]:
    """What `tag` may stand for in the unions among `nodes`, and whether a discriminator says so."""
    members: list[Schema] = []
    for node in nodes:
        mapping = node.get("discriminator", {}).get("mapping", {})
        if tag in mapping:
            return _each(_choices({"$ref": mapping[tag]}, schema)), True
        members.extend(_members(node))
    return _each(choice for member in members for choice in _choices(member, schema)), False


def _each(nodes: Iterable[Schema]) -> tuple[Schema, ...]:
    """Each node once; recursive unions would double them at every level."""
    return tuple({id(node): node for node in nodes}.values())


def _child(node: Schema, part: str | int) -> Schema | None:
    if isinstance(part, int):
        listed = node.get("prefixItems", [])
        found = listed[part] if part < len(listed) else node.get("items")
    else:
        patterns = list(node.get("patternProperties", {}).values())
        others = node.get("additionalProperties") or (patterns[0] if patterns else None)
        found = node.get("properties", {}).get(part, others)
    return found if isinstance(found, dict) else None


def _takes(node: Schema, part: str | int) -> bool:
    """Whether `part` can be a key here although the schema does not list it (an alias path, an extra key)."""
    return part != "[key]" and ("array" if isinstance(part, int) else "object") in _types(node)


def _mark(nodes: Iterable[Schema]) -> str | None:
    return next((node[LAX] for node in nodes if LAX in node), None)


def kinds_due(nodes: Iterable[Schema], schema: Schema) -> set[str]:
    """The JSON kinds that `nodes` and the members of unions among them ask for."""
    return {kind for node in nodes for member in _alternatives(node, schema) for kind in _types(member)}


def admits(node: Schema, value: Any, schema: Schema) -> bool:
    """Whether `value` is of the JSON kinds that `node` asks for, all the way down; no other rule counts."""
    return any(_admits(member, value, schema) for member in _alternatives(node, schema))


def _admits(node: Schema, value: Any, schema: Schema) -> bool:
    if node.get(LAX) == "all":
        return True
    kinds = _types(node)
    if (kinds and not any(_is_kind(value, kind) for kind in kinds)) or node.get("const", value) != value:
        return False
    return all(
        (child := _child(node, part)) is None or admits(child, item, schema) for part, item in _parts(value)
    )


def _alternatives(node: Schema, schema: Schema) -> list[Schema]:
    """What `node` comes to through references and unions, each alternative once."""
    found: list[Schema] = []
    waiting, seen = [node], set[int]()
    while waiting:
        node = resolved(waiting.pop(0), schema)
        if id(node) in seen:
            continue
        seen.add(id(node))
        members = _members(node)
        waiting.extend(members)
        found.extend([] if members else [node])
    return found


def _types(node: Schema) -> list[str]:
    kinds = node.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return bool(kind == "boolean")
    return isinstance(value, _KINDS.get(kind, ()))


def _parts(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()

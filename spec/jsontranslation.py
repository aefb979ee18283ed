"""From a JSON Schema to types, keyword by keyword."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Union

from pydantic import AfterValidator, Field

from .diagnostics import listed, nearest
from .imports import Unimportable, is_path
from .jsonmodels import Extra, Member, Models
from .jsonscalars import PLAIN, checked, each_once, literal, number, string
from .jsonshapes import (
    OWN,
    REDUCER,
    Path,
    SchemaFault,
    a_count,
    a_flag,
    a_list,
    a_mapping,
    a_text,
    check_alone,
    check_keywords,
    kinds_of,
    names_of,
    resolved,
)

MOST = 2000
"""Schemas that one schema may come to, references to other than objects written out."""
DEEPEST = 64


def add(old: Any, new: Any) -> Any:
    """Sums numbers, joins texts."""
    return old + new


def append(old: list[Any] | None, new: list[Any]) -> list[Any]:
    """The new items behind the old ones."""
    return [*(old or []), *new]


REDUCERS: Mapping[str, Callable[[Any, Any], Any]] = {"add": add, "append": append}


class Translation:
    """One schema on its way to a type."""

    def __init__(self, root: Mapping[str, Any], models: Models, importer: Callable[[str], Any]) -> None:
        self._root, self._models, self._importer = root, models, importer
        self._count, self._depth = 0, 0
        self._open: set[Path] = set()

    def whole(self) -> Any:
        return self._type(self._root, (), "Output")

    def _type(self, schema: Any, path: Path, name: str) -> Any:
        with self._counted(path):
            if schema is True:
                return Any
            if not isinstance(schema, Mapping):
                raise SchemaFault(f"a JSON Schema is a mapping, not {schema!r:.60}", path)
            if "$ref" in schema:
                return self._referred(schema, path, name)
            kinds = kinds_of(schema, path)
            check_keywords(schema, kinds, path)
            if REDUCER in schema and (len(path) != 2 or path[0] != "properties"):
                raise SchemaFault(f"{REDUCER!r} belongs to a key of the state", (*path, REDUCER))
            return self._shape(schema, kinds, path, name)

    @contextmanager
    def _counted(self, path: Path) -> Iterator[None]:
        self._count += 1
        self._depth += 1
        if self._count > MOST or self._depth > DEEPEST:
            raise SchemaFault(f"the schema is larger than {MOST}, or nested deeper than {DEEPEST}", path)
        yield
        self._depth -= 1

    def _shape(self, schema: Mapping[str, Any], kinds: tuple[str, ...], path: Path, name: str) -> Any:
        for word in ("const", "enum"):
            if word in schema:
                return literal(schema, word, kinds, path)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                check_alone(schema, word, path)
                members = enumerate(a_list(schema, word, path))
                return _union([self._type(one, (*path, word, at), name) for at, one in members])
        if "allOf" in schema:
            return self._all_of(schema, path, name)
        made = [self._kind(kind, schema, path, name) for kind in kinds]
        return _union(made) if made else Any

    def _referred(self, schema: Mapping[str, Any], path: Path, name: str) -> Any:
        check_keywords(schema, (), path)
        check_alone(schema, "$ref", path)
        target, place = resolved(self._root, schema["$ref"], path)
        if known := self._models.known(place):
            return known
        if place in self._open:
            told = "the reference goes round in a circle with no object on the way"
            raise SchemaFault(told, (*path, "$ref"))
        self._open.add(place)
        made = self._type(target, place, str(place[-1]) if place else name)
        self._open.discard(place)
        return made

    def _all_of(self, schema: Mapping[str, Any], path: Path, name: str) -> Any:
        parts = a_list(schema, "allOf", path)
        own = [word for word in OWN["object"] if word in schema]
        if len(parts) == 1 and not own:
            check_alone(schema, "allOf", path)
            return self._type(parts[0], (*path, "allOf", 0), name)
        return self._model(schema, path, name)

    def _kind(self, kind: str, schema: Mapping[str, Any], path: Path, name: str) -> Any:
        if kind == "object":
            return self._object(schema, path, name)
        if kind == "array":
            return self._array(schema, path, name)
        if kind == "string":
            return string(schema, path)
        return number(kind, schema, path) if kind in ("integer", "number") else PLAIN[kind]

    def _array(self, schema: Mapping[str, Any], path: Path, name: str) -> Any:
        item_name = name.removesuffix("s") if len(name) > 1 else name
        bounds = {
            "min_length": a_count(schema, "minItems", path),
            "max_length": a_count(schema, "maxItems", path),
        }
        if "prefixItems" in schema:
            if schema.get("items") is not False or any(it is not None for it in bounds.values()):
                told = "a list with 'prefixItems' has 'items: false' and no bounds"
                raise SchemaFault(told, (*path, "prefixItems"))
            listed_ = enumerate(a_list(schema, "prefixItems", path))
            made = [self._noted(one, (*path, "prefixItems", at), item_name) for at, one in listed_]
            return tuple[tuple(made)]  # type: ignore[misc]
        item: Any = self._noted(schema.get("items", True), (*path, "items"), item_name)
        made_list = checked(list[item], bounds)
        if a_flag(schema, "uniqueItems", path):
            unique: Any = Field(json_schema_extra={"uniqueItems": True})
            return Annotated[made_list, AfterValidator(each_once), unique]
        return made_list

    def _object(self, schema: Mapping[str, Any], path: Path, name: str) -> Any:
        given = schema.get("additionalProperties", True)
        bounds = {
            "min_length": a_count(schema, "minProperties", path),
            "max_length": a_count(schema, "maxProperties", path),
        }
        if "properties" not in schema and "allOf" not in schema and given is not False:
            names_of(schema, "required", (), path)
            item = self._noted(given, (*path, "additionalProperties"), name)
            return checked(dict[str, item], bounds)  # type: ignore[valid-type]
        if odd := [word for word in ("minProperties", "maxProperties") if word in schema]:
            raise SchemaFault(f"{odd[0]!r} is for objects without named properties", (*path, odd[0]))
        return self._model(schema, path, name)

    def _model(self, schema: Mapping[str, Any], path: Path, name: str) -> Any:
        if known := self._models.known(path):
            return known
        title = a_text(schema, "title", path)
        self._models.begin(path, title or name)
        parts = list(self._parts(schema, path))
        members: dict[str, Member] = {}
        required = {
            key for part, place in parts for key in names_of(part, "required", _all_names(parts), place)
        }
        for part, place in parts:
            for key, below in a_mapping(part, "properties", place).items():
                members[key] = self._member(key, below, (*place, "properties", key), key in required)
        extras = [(_extra(part, place)) for part, place in parts]
        extra: Extra = next((one for one in ("forbid", "allow") if one in extras), "ignore")
        return self._models.make(path, list(members.values()), extra, a_text(schema, "description", path))

    def _parts(self, schema: Any, path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
        """An object schema, and those that its `allOf` adds."""
        with self._counted(path):
            if not isinstance(schema, Mapping):
                raise SchemaFault(f"a JSON Schema is a mapping, not {schema!r:.60}", path)
            if "$ref" in schema:
                yield from self._parts(*resolved(self._root, schema["$ref"], path))
                return
            if kinds_of(schema, path) not in ((), ("object",)):
                raise SchemaFault("'allOf' joins objects; this is none", path)
            check_keywords(schema, ("object",), path)
            yield schema, path
            for at, one in enumerate(a_list(schema, "allOf", path)) if "allOf" in schema else ():
                yield from self._parts(one, (*path, "allOf", at))

    def _member(self, key: str, schema: Any, path: Path, is_required: bool) -> Member:
        hint = self._type(schema, path, key)
        told = schema if isinstance(schema, Mapping) else {}
        default = (told["default"],) if "default" in told else ()
        notes = {} if self._is_object(hint) and "$ref" not in told else _notes(told, path)
        return Member(key, hint, is_required, (*path, "default"), default, notes, self._reducer(told, path))

    def _noted(self, schema: Any, path: Path, name: str) -> Any:
        """The type of a schema with what it says about itself."""
        hint = self._type(schema, path, name)
        is_object = self._is_object(hint) and "$ref" not in schema
        notes = _notes(schema, path) if isinstance(schema, Mapping) and not is_object else {}
        return Annotated[hint, Field(**notes)] if notes else hint

    def _is_object(self, hint: Any) -> bool:
        return isinstance(hint, type) and self._models.is_own(hint)

    def _reducer(self, schema: Mapping[str, Any], path: Path) -> Any:
        given, where = schema.get(REDUCER), (*path, REDUCER)
        if given is None or given in REDUCERS:
            return None if given is None else REDUCERS[given]
        if not isinstance(given, str) or not is_path(given):
            told = f"{given!r:.60} is no reducer; there are: {listed(REDUCERS)}, and import paths"
            raise SchemaFault(told, where, nearest(str(given), REDUCERS))
        try:
            found = self._importer(given)
        except Unimportable as error:
            raise SchemaFault(str(error), where, error.nearest) from error
        if isinstance(found, type) or not callable(found):
            raise SchemaFault(f"{given!r:.80} is no function of the old and the new value", where)
        return found


def _notes(schema: Mapping[str, Any], path: Path) -> dict[str, Any]:
    given: dict[str, Any] = {word: a_text(schema, word, path) for word in ("title", "description")}
    if "examples" in schema:
        given["examples"] = a_list(schema, "examples", path)
    return {word: value for word, value in given.items() if value is not None}


def _all_names(parts: list[tuple[Mapping[str, Any], Path]]) -> list[str]:
    return [key for part, place in parts for key in a_mapping(part, "properties", place)]


def _extra(schema: Mapping[str, Any], path: Path) -> Extra:
    given = schema.get("additionalProperties")
    if given is None or isinstance(given, bool):
        return "ignore" if given is None else "allow" if given else "forbid"
    told = (
        "'additionalProperties' beside properties is true or false; give such a mapping a property of its own"
    )
    raise SchemaFault(told, (*path, "additionalProperties"))


def _union(members: list[Any]) -> Any:
    return Union[tuple(members)]  # noqa: UP007  (members may be forward references)

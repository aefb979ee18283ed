"""The content of a definition as hashes by path, so that a resume can tell what changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from ..nodes.schema import output_schema
from ..nodes.unit import WorkflowUnit
from .flow import Flow
from .region import Region

IGNORED = ("model", "adapter", "retry", "limits", "description", "steering")
"""Fields of a unit that may change between a run and its resume: how it runs, not what it is."""


def shape_key(path: str) -> str:
    """Where among the hashes that of a flow's shape stands; no path begins so."""
    return f"|{path}"


def _shape(flow: Flow[Any, Any]) -> Any:
    """What a resume goes by where parts run side by side: which there are, in what order, after what."""
    needs = getattr(flow, "dependencies", None) or {}
    return [flow.type, list(flow.parts), {key: _plain(value) for key, value in needs.items()}]


def part_hashes(part: Any, path: str = "") -> dict[str, str]:
    """A hash for every unit and step of `part`, by its path without passes, and for the shape of each flow
    whose parts may run side by side."""
    if isinstance(part, Flow):
        is_region = isinstance(part, Region) or part.type == "dag"
        hashes: dict[str, str] = {shape_key(path): digest(_shape(part))} if is_region else {}
        for key, child in part.parts.items():
            hashes |= part_hashes(child, part.place_of(key, path))
        return hashes
    return {path or str(part.id): digest(_content(part))}


def bundle_hash(hashes: Mapping[str, str]) -> str:
    return digest(sorted(hashes.items()))


def digest(content: Any) -> str:
    """A short hash that is the same in every process."""
    written = json.dumps(content, sort_keys=True, default=_constant)
    return sha256(written.encode("utf-8", "replace")).hexdigest()[:16]


def _content(part: Any) -> Any:
    if isinstance(part, WorkflowUnit):
        schema = output_schema(part.output).parameters()
        named = {f.name: getattr(part, f.name) for f in fields(part) if f.name not in (*IGNORED, "output")}
        return {"schema": schema, **{name: _plain(value) for name, value in named.items()}}
    return {f.name: _plain(getattr(part, f.name)) for f in fields(part)}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseTool):
        function = getattr(value, "coroutine", None) or getattr(value, "func", None)
        return [value.name, value.description, _plain(function)]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", fallback=repr)
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return _function(value) if callable(value) else value


def _function(function: Callable[..., Any]) -> Any:
    """A function by its name, code, defaults and what it captured; a partial by its parts."""
    if isinstance(function, partial):
        return ["partial", _function(function.func), _constant(function.args), _constant(function.keywords)]
    code = getattr(function, "__code__", None)
    qualname = getattr(function, "__qualname__", type(function).__qualname__)
    name = f"{getattr(function, '__module__', '')}:{qualname}"
    if code is None:
        return name
    defaults = [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    captured = [_constant(cell.cell_contents) for cell in _cells(function)]
    return [name, list(_code(code)), _constant(defaults), captured]


def _cells(function: Any) -> Iterator[Any]:
    cells = function.__closure__ if isinstance(function, FunctionType) else None
    yield from (cell for cell in cells or () if _is_filled(cell))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _constant(value: Any, depth: int = 0) -> Any:
    """A value in a form that is the same in every process. Plain values and functions count; other
    objects only by their class, since they hold what is live."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if depth > 8:
        return type(value).__qualname__
    if isinstance(value, Mapping):
        pairs = ([_constant(key, depth + 1), _constant(item, depth + 1)] for key, item in value.items())
        return sorted(pairs, key=repr)
    if isinstance(value, set | frozenset):
        return sorted((_constant(item, depth + 1) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [_constant(item, depth + 1) for item in value]
    if isinstance(value, FunctionType | partial):
        return _function(value)
    return repr(value) if isinstance(value, bytes | complex) else type(value).__qualname__


def _code(code: CodeType) -> Iterator[Any]:
    yield code.co_code.hex()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield _constant(constant)
    yield " ".join(code.co_names)

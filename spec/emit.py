"""Plain data as YAML text that reads back as the same data, and that a person can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from .scalars import scalar_value

WIDTH = 100
SHORT = 76
"""Characters that a list of plain words may take to stand on one line."""


class _Dumper(yaml.SafeDumper):
    """Quotes what the core schema of YAML 1.2 would read as something else than a text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text and _is_literal(text):
        style = "|"
    elif not isinstance(scalar_value(text), str) or not text.isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_literal(text: str) -> bool:
    """Whether a text can stand as a block, line by line as it is."""
    lines = text.split("\n")
    return lines[0][:1] not in ("", " ") and all(
        line == "" or (line.isprintable() and line.strip() != "" and line[-1] != " ") for line in lines
    )


def _list(dumper: Any, items: Any) -> Any:
    node = dumper.represent_sequence("tag:yaml.org,2002:seq", items)
    short = all(not isinstance(item, str) or not {"\n", ":"} & set(item) for item in items)
    scalars = all(item is None or isinstance(item, str | int | float) for item in items)
    node.flow_style = bool(scalars and short and len(str(items)) <= SHORT)
    return node


def _mapping(dumper: Any, data: Mapping[str, Any]) -> Any:
    return dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=not data)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(tuple, _list)
_Dumper.add_representer(dict, _mapping)


def emitted(data: Any) -> str:
    """`data` as YAML; keys in their order. Floats, whole numbers, truth values, texts, lists and mappings."""
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=WIDTH)

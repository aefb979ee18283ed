"""Writes what is published of the YAML form anew: `python -m plait.workflow_schema`.

That is its JSON Schema, for editors, and the tables of its keys in `docs/yaml.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from .spec.document import FILE, METADATA, SPEC
from .spec.flows import FLOWS
from .spec.policies import LIMITS, TIMEOUT
from .spec.record import REQUIRED, Record
from .spec.units import UNIT
from .workflow_file import workflow_schema

PUBLISHED = Path(__file__).parent / "spec" / "plait.schema.json"
DOCUMENT = Path(__file__).parent / "docs" / "yaml.md"
TABLES = re.compile(r"(<!-- keys -->\n).*?(<!-- end of keys -->)", re.S)


def schema_text() -> str:
    """The schema as its file has it."""
    return json.dumps(workflow_schema(), indent=1, ensure_ascii=False) + "\n"


def reference() -> str:
    """The keys of every record in Markdown, in the order of the file."""
    titled = [("The file", FILE), ("`metadata`", METADATA), ("`spec`", SPEC), ("A unit", UNIT)]
    titled += [(f"`type: {name}`", record) for name, record in FLOWS.items()]
    titled += [("`limits`", LIMITS), ("`policy.timeout`", TIMEOUT)]
    return "\n".join(line for title, record in titled for line in _table(title, record))


def documented(text: str) -> str:
    """The document with its tables of keys made anew."""
    return TABLES.sub(lambda found: f"{found[1]}{reference()}{found[2]}", text)


def _table(title: str, record: Record) -> Iterator[str]:
    yield f"### {title}\n"
    if record.doc:
        yield f"{record.doc}\n"
    yield "| key | default | |"
    yield "|---|---|---|"
    for row in record.rows:
        names = ", ".join(f"`{word}`" for word in (row.key, *row.also))
        yield f"| {names} | {_default(row.default)} | {row.doc} |"
    yield ""


def _default(value: object) -> str:
    if value is REQUIRED:
        return "needed"
    if isinstance(value, type):
        return f"`{value.__name__}`"
    return "" if value is None or value in ("", (), {}) else f"`{json.dumps(value)}`"


if __name__ == "__main__":
    PUBLISHED.write_text(schema_text(), encoding="utf-8")
    DOCUMENT.write_text(documented(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")

"""Measures Plait beside LangGraph by hand and prints the table: `python -m plait.benchmarks`."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
from importlib.metadata import version

from .cases import cases
from .measure import Row, measure, table

PACKAGES = ("langgraph", "langchain-core", "langgraph-checkpoint-sqlite", "pydantic")


async def measured(*, quick: bool, only: str) -> list[Row]:
    rows: list[Row] = []
    for case in cases(quick=quick):
        if only.lower() in case.name.lower():
            print(case.name, file=sys.stderr, flush=True)
            rows.append(await measure(case))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="plait.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter cases, under a minute")
    parser.add_argument("--json", action="store_true", help="print every measured value as JSON")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    options = parser.parse_args()
    rows = asyncio.run(measured(quick=options.quick, only=options.only))
    if options.json:
        about = {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
        print(json.dumps({"versions": about, "cases": [row.to_plain() for row in rows]}, indent=2))
    else:
        print(table(rows))


if __name__ == "__main__":
    main()

"""Two runs, or two runs of one unit, beside each other as a notebook shows them, differences marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.records import StepRecord
from ..graphs.compare import Comparison, Row
from ..graphs.rerun import Rerun
from .html import Cell, Html, badge, block, cell, joined, path_html, table, tag
from .results import output_of
from .values import fields_of
from .words import plain, said_value, seconds, tools_called

LONGEST = 600
DID_NOT_RUN = tag("span", "m", "did not run")


def comparison_bundle(compared: Comparison) -> dict[str, str]:
    """A row for each step of the two runs."""
    differ = len(compared.differences)
    told = f"{differ} of {len(compared.rows):,} steps differ" if differ else "no step differs"
    columns = (("path", "p"), (f"in {compared.a}", "t"), (f"in {compared.b}", "t"), ("differs in", "m"))
    rows = [_step_row(row) for row in compared.rows]
    html = block(tag("div", "m", told), table(columns, rows, "steps"))
    return {"text/html": html, "text/plain": plain(compared)}


def rerun_bundle(again: Rerun) -> dict[str, str]:
    """What the unit did in the thread, and what it did when it was run again."""
    columns = ((again.before.path, "m w"), ("before", "t"), ("again", "t"))
    html = block(table(columns, [*_pairs(again.before, again.after)], "fields"))
    return {"text/html": html, "text/plain": plain(again)}


def _step_row(row: Row) -> list[str]:
    differences = row.differences
    kind = "t d" if {"status", "output", "text"} & set(differences) else "t"
    return [
        path_html(row.path),
        cell(kind, _came_to(row.a)),
        cell(kind, _came_to(row.b)),
        ", ".join(differences),
    ]


def _came_to(step: StepRecord | None) -> Html:
    return DID_NOT_RUN if step is None else joined([badge(step.status), Html(" "), output_of(step)])


def _pairs(before: StepRecord, after: StepRecord) -> Iterator[list[str]]:
    """The lines of a rerun: its output field by field, then how it came about."""
    yield ["status", *_marked(badge(before.status), badge(after.status))]
    one, other = _outputs(before), _outputs(after)
    for name in dict.fromkeys([*one, *other]):
        yield [name, *_marked(one.get(name, ""), other.get(name, ""))]
    tools = tools_called(before.tool_calls), tools_called(after.tool_calls)
    if any(tools):
        yield ["tools", *_marked(*tools)]
    yield ["model calls", *_marked(f"{before.usage.model_calls:,}", f"{after.usage.model_calls:,}")]
    yield ["tokens", f"{before.usage.tokens:,}", f"{after.usage.tokens:,}"]
    yield ["time", seconds(before.duration_s), seconds(after.duration_s)]


def _outputs(step: StepRecord) -> dict[str, str]:
    """The fields of a step's output as texts."""
    value: Any = step.output if step.status in ("done", "partial") else output_of(step, LONGEST)
    named = fields_of(value)
    return (
        {"output": said_value(value, LONGEST)}
        if not named
        else {n: said_value(v, LONGEST) for n, v in named.items()}
    )


def _marked(one: str, other: str) -> tuple[Cell, Cell]:
    kind = "t d" if one != other else "t"
    return cell(kind, one), cell(kind, other)

"""What the command prints: a line for each unit that ended, then the findings by file and line."""

from __future__ import annotations

from collections.abc import Iterator

from plait import Event, RunResult
from plait.examples.review.units import Finding, Report


def progress(event: Event) -> str:
    """One line on a unit that ended, or blank."""
    if event.type != "agent_end" or not event.path:
        return ""
    why = f" ({event.error or event.reason})" if event.outcome == "failed" else ""
    return shown(f"  {event.outcome:<8} {event.path}{why}")


def lines(result: RunResult) -> Iterator[str]:
    """The report of a run that ended."""
    report: Report = result.output
    yield ""
    yield shown(report.summary)
    yield from map(finding, report.findings)
    spent = result.usage
    yield ""
    calls = f"{spent.model_calls} model calls, {spent.tool_calls} tool calls"
    yield f"{calls}, {spent.tokens} tokens, {result.duration_s:.1f} s"


def finding(one: Finding) -> str:
    """One line, which an editor can follow to the place."""
    return shown(f"{one.file}:{one.line}: {one.severity}: {one.message}")


def shown(text: str) -> str:
    """`text` on one line without control characters, so that a diff cannot steer the terminal."""
    return "".join(sign if sign.isprintable() else "�" for sign in text.replace("\n", " "))

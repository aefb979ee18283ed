"""What runs gave, as a notebook shows it: one result, many beside each other, a failed run's error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..core.errors import RunError
from ..core.ports import Question
from ..core.records import StepRecord
from ..graphs.result import RunResult
from .html import Html, badge, block, joined, path_html, table, tag
from .values import short_value, value_html
from .words import count, plain, said_value, seconds, tools_called

STEPS = (
    ("path", "p"),
    ("unit", ""),
    ("status", "w"),
    ("output", "t"),
    ("tool calls", ""),
    ("model calls", "n"),
    ("tokens", "n"),
    ("time", "n"),
)
MANY = (
    ("", "n"),
    ("task", "t"),
    ("outcome", "w"),
    ("output", "t"),
    ("units", "p"),
    ("model calls", "n"),
    ("tokens", "n"),
    ("time", "n"),
)


def result_bundle(result: RunResult[Any]) -> dict[str, str]:
    """A result: its output, what it asks, and its steps."""
    return {"text/html": block(*_result(result)), "text/plain": plain(result)}


def error_bundle(error: RunError) -> dict[str, str]:
    """A failed run: where, why, and what it had done."""
    where = [tag("span", "p", error.path), Html(" ")] if error.path else []
    told = joined([badge("failed", error.reason), Html(" "), *where])
    result = error.result
    steps = (
        [tag("div", "m", _spent(result)), steps_table(result.steps)] if isinstance(result, RunResult) else []
    )
    html = block(tag("div", "", told), tag("div", "t", _without_path(error)), *steps)
    return {"text/html": html, "text/plain": plain(error)}


def results_bundle(results: Sequence[Any]) -> dict[str, str]:
    """Results of several runs as rows of one table."""
    rows = [[str(number), *_row(one)] for number, one in enumerate(results, start=1)]
    return {"text/html": block(table(MANY, rows, "runs")), "text/plain": plain([*results])}


def steps_table(steps: Sequence[StepRecord]) -> Html:
    return table(STEPS, [_step(step) for step in steps], "steps") if steps else joined([])


def output_of(step: StepRecord, longest: int = 160) -> str:
    """A step's output in short; why there is none, when there is none."""
    if step.status in ("done", "partial"):
        return short_value(_read(step), longest)
    return said_value(": ".join(filter(None, (step.reason, step.message))), longest)


def _read(step: StepRecord) -> Any:
    """The typed output, or its plain form when its class is gone."""
    try:
        return step.output
    except Exception:
        return step.stored.plain


def _result(result: RunResult[Any]) -> Iterator[Html]:
    yield _totals(result)
    if result.outcome in ("done", "partial"):
        yield _output(result)
    if result.message and result.outcome != "done":
        where = [tag("span", "p", result.path), Html(" ")] if result.path else []
        yield tag("div", "t", *where, result.message)
    for question in result.interrupts:
        yield _question(question)
    if result.interrupts:
        yield tag("div", "m", f"Answer with workflow.resume({result.thread_id!r}, {{question id: answer}}).")
    yield steps_table(result.steps)
    if result.undelivered:
        yield tag(
            "div", "m", f"Not delivered: {'; '.join(f'{i.address}: {i.text}' for i in result.undelivered)}"
        )
    if result.lingering:
        yield tag(
            "div", "m", f"Still running: {', '.join(f'{i.name} at {i.path}' for i in result.lingering)}"
        )


def _output(result: RunResult[Any]) -> Html:
    try:
        return value_html(result.output)
    except Exception as error:  # its class is gone, or a field of it raises
        return tag("div", "m", f"The output cannot be shown: {type(error).__name__}: {error}")


def _totals(result: RunResult[Any]) -> Html:
    told = [result.reason or "", "not accepted" if result.accepted is False else "", _spent(result)]
    return tag("div", "", badge(result.outcome), Html(" "), tag("span", "m", " · ".join(filter(None, told))))


def _spent(result: RunResult[Any]) -> str:
    spent = result.usage
    counts = {
        "step": len(result.steps),
        "model call": spent.model_calls,
        "tool call": spent.tool_calls,
        "token": spent.tokens,
    }
    told = [*(count(number, noun) for noun, number in counts.items()), seconds(result.duration_s)]
    return " · ".join([*told, f"thread {result.thread_id}"])


def _question(question: Question) -> Html:
    where = joined([question.kind, " of ", tag("span", "p", question.path or "the run")])
    head = tag("div", "m", where, " · id ", tag("span", "p", question.id))
    return tag("div", "q", head, _asked(question))


def _asked(question: Question) -> Html:
    asked = question.question
    if isinstance(asked, list) and len(asked) == 1:
        asked = asked[0]
    request = asked.get("action_request") if isinstance(asked, Mapping) else None
    if not isinstance(request, Mapping):
        return value_html(asked)
    call = f"{request.get('action')}({_arguments(request.get('args'))})"
    return joined([tag("div", "t", str(asked.get("description") or "")), tag("div", "p", call)])


def _arguments(args: Any) -> str:
    if not isinstance(args, Mapping):
        return said_value(args)
    return ", ".join(f"{name}={said_value(repr(value))}" for name, value in args.items())


def _step(step: StepRecord) -> list[str]:
    spent = step.usage
    return [
        path_html(step.path),
        step.unit,
        badge(step.status),
        output_of(step),
        tools_called(step.tool_calls),
        f"{spent.model_calls:,}",
        f"{spent.tokens:,}",
        seconds(step.duration_s),
    ]


def _row(one: Any) -> list[str]:
    result = one.result if isinstance(one, RunError) else one
    if not isinstance(result, RunResult):
        return ["", badge("failed"), said_value(one, show=_told), "", "", "", ""]
    done = result.outcome in ("done", "partial")
    output = short_value(_given(result)) if done else said_value(result.message or result.reason or "")
    return [
        _task(result),
        badge(result.outcome),
        output,
        " → ".join(result.completed_units),
        f"{result.usage.model_calls:,}",
        f"{result.usage.tokens:,}",
        seconds(result.duration_s),
    ]


def _given(result: RunResult[Any]) -> Any:
    try:
        return result.output
    except Exception:
        return result.stored.plain


def _task(result: RunResult[Any]) -> str:
    """What was asked last in the conversation."""
    said = (str(message.text) for message in reversed(result.messages) if message.type == "human")
    return said_value(next(said, ""), 160)


def _told(error: Any) -> str:
    return f"{type(error).__name__}: {error}"


def _without_path(error: RunError) -> str:
    return str(error).removeprefix(f"{error.path}: ")

"""How the command says things: values, results, errors and questions. Results go to standard output,
all else to standard error, so that a pipe gets the result alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.markup import escape

from ..core.ports import Question
from ..graphs.result import RunResult
from ..view.words import count, seconds


def error_console() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def jsonable(value: Any) -> Any:
    """A value as JSON data; what has no JSON form as its text."""
    return to_jsonable_python(value, fallback=str, inf_nan_mode="constants")


def as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(jsonable(value), ensure_ascii=False, indent=indent)


def as_text(value: Any) -> str:
    """An output as it is printed: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else as_json(value, 2)


def result_data(result: RunResult[Any]) -> dict[str, Any]:
    """A result as the last line of `--json` tells it."""
    told: dict[str, Any] = {
        "type": "result",
        "thread_id": result.thread_id,
        "outcome": result.outcome,
        "reason": result.reason,
        "message": result.message or None,
        "path": result.path or None,
        "accepted": result.accepted,
        "output": output_of(result),
        "route": [step.path for step in result.steps],
        "usage": result.usage.to_plain(),
        "duration_s": round(result.duration_s, 3),
        "questions": [question_data(one) for one in result.interrupts] or None,
    }
    return {key: jsonable(value) for key, value in told.items() if value is not None}


def output_of(result: RunResult[Any]) -> Any:
    """The output, None where a run has none."""
    return result.output if result.outcome in ("done", "partial") else None


def question_data(asked: Question) -> dict[str, Any]:
    return {"id": asked.id, "path": asked.path, "kind": asked.kind, "question": jsonable(asked.question)}


def print_result(result: RunResult[Any], console: Console) -> None:
    """The output to standard output, and what else there is to say to `console`."""
    if result.outcome in ("done", "partial"):
        print(as_text(result.output), flush=True)
    if result.outcome == "partial":
        told = result.message or "some parts failed, or an end was not reached"
        console.print(f"[yellow]partial[/]: {escape(told)}")
    for lingering in result.lingering:
        console.print(f"[yellow]still running[/]: {escape(lingering.name)} of {escape(lingering.path)}")
    for item in result.undelivered:
        console.print(f"[yellow]not delivered[/] to {escape(item.address)}: {escape(item.text)}")


def summary(result: RunResult[Any]) -> str:
    """One line of what a run came to."""
    told = [result.outcome, count(result.usage.model_calls, "model call")]
    if result.usage.tokens:
        told.append(count(result.usage.tokens, "token"))
    return " · ".join([*told, seconds(result.duration_s)])


def asked_text(asked: Question) -> str:
    """A question as a person reads it."""
    value = (
        asked.question[0] if isinstance(asked.question, list) and len(asked.question) == 1 else asked.question
    )
    if isinstance(value, Mapping) and "action_request" in value:
        request = value["action_request"]
        call = f"{request.get('action')}({as_json(request.get('args'))})"
        return f"{call}\n{value.get('description') or ''}".rstrip()
    return as_text(value)


def print_questions(result_questions: tuple[Question, ...], console: Console) -> None:
    for asked in result_questions:
        console.print(
            f"[bold yellow]?[/] [bold]{escape(asked.path or 'the run')}[/] [dim]{asked.kind} {asked.id}[/]"
        )
        for line in asked_text(asked).splitlines():
            console.print(f"  {escape(line)}")


def print_error(error: BaseException, console: Console) -> None:
    """An error as one red block."""
    lines = str(error).replace("(root): ", "").splitlines() or [type(error).__name__]
    console.print(f"[bold red]error:[/] {escape(lines[0])}", highlight=False)
    for line in lines[1:]:
        console.print(f"[red]  {escape(line)}[/]", highlight=False)

"""What a run is given on the command line: its task, shared state and context."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .guard import Usage

STDIN = "-"


def task_from(task: str | None) -> str:
    """The task: the argument, or standard input when it is `-` or nothing and something is piped in."""
    if task is not None and task != STDIN:
        if not task.strip():
            raise Usage("the task is empty")
        return task
    if task is None and sys.stdin.isatty():
        raise Usage("there is no TASK; write it after FILE, or pipe it in")
    read = _standard_input().strip()
    if not read:
        raise Usage("the task is empty: nothing came on standard input")
    return read


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Usage(f"standard input is no text in UTF-8: {error}") from error


def tasks_from(path: Path) -> list[str]:
    """One task a line; blank lines are left out."""
    text = _standard_input() if str(path) == STDIN else _text_of(path)
    tasks = [line.strip() for line in text.splitlines() if line.strip()]
    if not tasks:
        raise Usage(f"there are no tasks in {path}")
    return tasks


def mapping_from(given: Sequence[str], option: str) -> dict[str, Any] | None:
    """`key=value` pairs, JSON objects and `@FILE`s with one, put together; values are JSON, else text."""
    found: dict[str, Any] = {}
    for one in given:
        text = _text_of(Path(one[1:])) if one.startswith("@") else one
        if text.lstrip().startswith("{"):
            found |= _object(text, option)
            continue
        key, sign, value = text.partition("=")
        if not sign:
            raise Usage(f"{option} {one!r}: write KEY=VALUE, a JSON object, or @FILE")
        found[key] = _value(value)
    return found or None


def context_from(given: Sequence[str], schema: type | None) -> Any:
    """The context of a run, of the workflow's `context_schema` where it has one."""
    found = mapping_from(given, "--context")
    if found is None or schema is None:
        return found
    try:
        return TypeAdapter(schema).validate_python(found)
    except ValidationError as error:
        raise Usage(f"--context: {error}") from error


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise Usage(f"{option}: that is no JSON object: {error}") from error
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"{path} cannot be read: {error}") from error

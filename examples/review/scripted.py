"""The embedded model: it plays all reviewers by the rules, from nothing but what it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from plait.examples.review.diff import FileChange, read_numbered
from plait.examples.review.rules import async_names, constants, findings, not_awaited
from plait.examples.review.units import Finding, Report
from plait.testing import Request, ScriptedModel, call
from plait.testing.replies import Call
from plait.testing.script import Rule

REVIEWERS = ("security", "performance", "architecture", "bugs")
SMALL = 8
_OUTPUT = re.compile(r"^Output of (\S+):\n(.*)$", re.M)
_ORDER = {"critical": 0, "major": 1, "minor": 2}


def _triage(request: Request) -> Call:
    changes = read_numbered(request.first_user)
    code = [line for change in changes if change.path.endswith(".py") for line in change.added]
    risky = [found for reviewer in REVIEWERS for found in findings(changes, reviewer)]
    if len(code) <= SMALL and not risky:
        return call("resolve", route="quick", why=f"{len(code)} added lines of code, none of them risky")
    return call(
        "resolve", route="deep", why=f"{len(code)} added lines of code, {len(risky)} of them suspicious"
    )


def _quick(request: Request) -> Call:
    changes = read_numbered(request.first_user)
    return _resolved([found for reviewer in REVIEWERS for found in findings(changes, reviewer)])


def _plan(request: Request) -> Call:
    changes = read_numbered(request.first_user)
    files = sorted(changes, key=lambda change: -len(change.added))
    return call("resolve", files=[change.path for change in files], notes="the most changed files first")


def _actor(request: Request) -> Call | list[Call]:
    """At first what the diff shows; after the evaluator has spoken, what the files confirm."""
    found = findings(read_numbered(request.first_user), "security")
    if request.replies == 0:
        return call("resolve", findings=[one.model_dump() for one in found])
    return _confirmed(request, found)


def _reviewer(request: Request, reviewer: str) -> Call | list[Call]:
    return _confirmed(request, findings(read_numbered(request.first_user), reviewer))


def _confirmed(request: Request, found: list[Finding]) -> Call | list[Call]:
    """Read the files of the findings, then keep those that the files bear out."""
    files = sorted({one.file for one in found})
    if files and not request.tool_results:
        return [call("read_file", path=path) for path in files]
    texts = {path: str(told.text) for path, told in zip(files, request.tool_results, strict=False)}
    changes = read_numbered(request.first_user)
    kept = [
        one.model_copy(update={"evidence": _evidence(one, texts[one.file])})
        for one in found
        if not _is_harmless(_text_of(one, changes), texts[one.file])
    ]
    return call("resolve", findings=[one.model_dump() for one in kept])


def _evidence(found: Finding, file: str) -> str:
    line = re.search(rf"^ *{found.line} \|(.*)$", file, re.M)
    return (
        f"line {found.line} of the file: {line[1].strip()}"
        if line
        else "the file could not be read; the diff says so"
    )


def _is_harmless(line: str, file: str) -> bool:
    """SQL that takes nothing but constants of its own file."""
    taken = re.findall(r"\{(\w+)[^}]*\}", line)
    return bool(taken) and set(taken) <= constants(file)


def _evaluator(request: Request) -> Call:
    told = _outputs(request.user).get("actor", {}).get("findings", [])
    missing = [f"{one['file']}:{one['line']}" for one in told if not one.get("evidence")]
    if missing:
        return call("resolve", score=5, feedback=f"Confirm in the files, or drop: {', '.join(missing)}")
    return call("resolve", score=9, feedback="every finding has its evidence")


def _bugs(request: Request) -> Call:
    """Async functions may be defined anywhere, so look for them before judging."""
    changes = read_numbered(request.first_user)
    if not request.tool_results:
        return call("search", text="async def ")
    names = async_names(f"{request.first_user}\n{request.tool_results[0].text}")
    known = {
        (one["file"], one["line"]) for one in _outputs(request.user).get("security", {}).get("findings", [])
    }
    found = [*findings(changes, "bugs"), *not_awaited(changes, names)]
    return call("resolve", findings=[one.model_dump() for one in found if (one.file, one.line) not in known])


def _report(request: Request) -> Call:
    told = [one for output in _outputs(request.user).values() for one in output.get("findings", [])]
    failed = re.findall(r"^Output of (\S+):\n(?!\{)", request.user, re.M)
    return _resolved([Finding.model_validate(one) for one in told], failed)


def _resolved(found: Iterable[Finding], failed: list[str] | None = None) -> Call:
    once = {(one.file, one.line, one.message): one for one in found}
    ranked = sorted(once.values(), key=lambda one: (_ORDER[one.severity], one.file, one.line))
    files = len({one.file for one in ranked})
    summary = f"{len(ranked)} findings in {files} files." if ranked else "Nothing to object to."
    if failed:
        summary += f" No answer from: {', '.join(failed)}."
    return call("resolve", Report(summary=summary, findings=ranked).model_dump())


def _outputs(text: str) -> dict[str, dict[str, Any]]:
    """What earlier parts gave, by the last segment of their path without its pass."""
    found: dict[str, dict[str, Any]] = {}
    for path, said in _OUTPUT.findall(text):
        if said.startswith("{"):
            found[re.sub(r"\[\d+\]$", "", path.rpartition("/")[2])] = json.loads(said)
    return found


def _text_of(found: Finding, changes: list[FileChange]) -> str:
    lines = (line for change in changes if change.path == found.file for line in change.lines)
    return next((line.text for line in lines if line.number == found.line), "")


SCRIPT: dict[str, Rule] = {
    "triage": _triage,
    "quick": _quick,
    "plan": _plan,
    "actor": _actor,
    "evaluator": _evaluator,
    "performance": partial(_reviewer, reviewer="performance"),
    "architecture": partial(_reviewer, reviewer="architecture"),
    "bugs": _bugs,
    "report": _report,
}


def scripted_model() -> ScriptedModel:
    """A model that needs no key and reviews the same diff the same way every time."""
    return ScriptedModel(SCRIPT)

"""What the scripted reviewers know: rules that read the changed lines, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from plait.examples.review.diff import FileChange, Line
from plait.examples.review.units import Finding, Severity

Found = Callable[[FileChange], Iterable[Line]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of fault: who looks for it, how bad it is, and how it is found."""

    reviewer: str
    severity: Severity
    message: str
    found: Found


def matching(pattern: str, unless: str = r"(?!)") -> Found:
    """Added lines of code that hold the pattern and not the other one."""
    wanted, unwanted = re.compile(pattern), re.compile(unless)

    def found(change: FileChange) -> Iterator[Line]:
        for line in change.added:
            code = _code(line.text)
            if wanted.search(code) and not unwanted.search(code):
                yield line

    return found


def nested_loops(change: FileChange) -> Iterator[Line]:
    """A loop inside another one over the same thing."""
    open_: list[tuple[int, str]] = []
    for line in change.lines:
        if line.sign == "-" or not line.text.strip():
            continue
        depth = len(line.text) - len(line.text.lstrip())
        open_ = [(outer, over) for outer, over in open_ if outer < depth]
        if loop := re.match(r"\s*(?:async )?for .+? in (?:enumerate\()?([\w.]+)", line.text):
            if line.is_added and loop[1] in [over for _, over in open_]:
                yield line
            open_.append((depth, loop[1]))


def queries_in_loops(change: FileChange) -> Iterator[Line]:
    loops: list[int] = []
    for line in change.lines:
        if line.sign == "-" or not line.text.strip():
            continue
        depth = len(line.text) - len(line.text.lstrip())
        loops = [outer for outer in loops if outer < depth]
        if re.match(r"\s*(?:async )?for ", line.text):
            loops.append(depth)
        elif loops and line.is_added and re.search(r"\.execute\(", _code(line.text)):
            yield line


def long_signatures(change: FileChange) -> Iterator[Line]:
    """Functions with more than six parameters on their first line."""
    for line in change.added:
        signature = re.match(r"\s*(?:async )?def \w+\((.*)", line.text)
        if signature and len([part for part in signature[1].split(",") if part.strip(" ):*")]) > 6:
            yield line


RULES = (
    Rule("security", "critical", "eval or exec runs whatever the caller sends; parse the value instead",
         matching(r"(?<![\w.])(eval|exec)\((?!\s*[\"'])")),
    Rule("security", "critical", "SQL is put together from text; pass the values as parameters",
         matching(r"(?i)(f[\"'].*\b(select|insert|update|delete)\b.*\{)|(\b(select|insert|update|delete)\b.*[\"']\s*(%|\+|\.format))")),
    Rule("security", "major", "a secret stands in the source; read it from the environment, and change it",
         matching(r"(?i)\b\w*(password|secret|token|api_?key)\w*\s*[:=]+\s*[\"'][^\"']{8,}[\"']")),
    Rule("security", "major", "a shell runs text that is put together; give a list of arguments",
         matching(r"shell\s*=\s*True|os\.system\(")),
    Rule("performance", "major", "a loop in a loop over the same items is quadratic; use a set or a dict",
         nested_loops),
    Rule("performance", "major", "one query for each item; ask once for all of them", queries_in_loops),
    Rule("performance", "major", "time.sleep holds up every other task; use asyncio.sleep",
         matching(r"\btime\.sleep\(")),
    Rule("architecture", "minor", "hidden global state; pass it in", matching(r"^\s*global \w")),
    Rule("architecture", "minor", "more than six parameters; gather them in a value", long_signatures),
    Rule("architecture", "minor", "a star import hides where names come from",
         matching(r"^from \S+ import \*")),
    Rule("bugs", "major", "a bare except hides every fault, even an interrupt; name the errors",
         matching(r"^\s*except\s*:")),
    Rule("bugs", "major", "off by one: the last index is len - 1",
         matching(r"range\(\s*len\([^()]*\)\s*\+\s*1\s*\)|<=\s*len\(|\[\s*len\([^()]*\)\s*\]")),
    Rule("bugs", "major", "a mutable default is shared by all calls; use None",
         matching(r"def \w+\(.*=\s*(\[\]|\{\}|set\(\))")),
)  # fmt: skip


def findings(changes: Iterable[FileChange], reviewer: str) -> list[Finding]:
    """What one reviewer finds in the changes."""
    return [
        Finding(file=change.path, line=line.number, severity=rule.severity, message=rule.message)
        for change in changes
        if change.path.endswith(".py")
        for rule in RULES
        if rule.reviewer == reviewer
        for line in rule.found(change)
    ]


def not_awaited(changes: Iterable[FileChange], names: Iterable[str]) -> list[Finding]:
    """Calls of the async functions `names`, as statements or in assignments, without await."""
    listed = "|".join(map(re.escape, names))
    if not listed:
        return []
    call = re.compile(rf"^\s*(?:\w+\s*=\s*)?(?:\w+\.)*({listed})\(")
    return [
        Finding(
            file=change.path,
            line=line.number,
            severity="major",
            message=f"{made[1]} is async and is not awaited, so it never runs",
        )
        for change in changes
        for line in change.added
        if (made := call.match(line.text))
    ]


def async_names(text: str) -> list[str]:
    """The async functions that a text defines."""
    return sorted(set(re.findall(r"async def (\w+)", text)))


def constants(text: str) -> set[str]:
    """The names in capitals that a file gives a literal value."""
    return set(re.findall(r"^(?: *\d+ \|)?([A-Z][A-Z_0-9]*) = [\"'\d]", text, re.M))


def _code(text: str) -> str:
    """A line without its comment; a # inside quotes stays."""
    return re.sub(r"(?:^|\s)#[^\"']*$", "", text)

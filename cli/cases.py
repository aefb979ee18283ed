"""Test cases of a workflow in YAML, in `NAME.cases.yaml` beside `NAME.yaml`: reading, running, judging.

Each case is an input with what is expected of the run: outcome, route, output, calls. Replies come from the
case's own `mock` or `recording`, else from the workflow's mock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..core.errors import PlaitError, RunError
from ..graphs.result import RunResult
from ..spec.diagnostics import Diagnostic, SpecError
from ..spec.kinds import BAD, Book, Reading
from ..spec.mock import MockFault, mock_of
from ..spec.tree import Node, found, plain
from ..testing import Replay
from ..workflow import Workflow
from ..workflow_forms import REGISTRY, scripted
from ..workflow_models import StandIn
from ..workflow_source import importer_beside, read_source
from .target import load
from .told import as_json, jsonable, output_of

SUFFIX = ".cases.yaml"
RESOLVE = "resolve"


class Closed(BaseModel):
    """Data in which an unknown key is an error."""

    model_config = ConfigDict(extra="forbid")


class Expected(Closed):
    """What is expected; what is not given is not looked at.

    `output` is a part of the output: of mappings the keys that are given, all else equal; `equals` is all
    of it. `calls` are the tool calls in order, `resolve` left out: names, or `{name: arguments}`, of which
    the given ones count.
    """

    outcome: str = "done"
    route: list[str] | None = None
    output: Any = None
    equals: Any = None
    contains: str | None = None
    calls: list[str | dict[str, dict[str, Any]]] | None = None
    reason: str | None = None
    state: dict[str, Any] | None = None
    model_calls: int | None = None


class Case(Closed):
    """One run and what is expected of it."""

    name: str
    input: Any
    state: dict[str, Any] | None = None
    context: dict[str, Any] | None = None
    mock: dict[str, Any] | str | None = None
    recording: str | None = None
    answers: list[Any] = Field(default_factory=list)
    expect: Expected = Expected()


class Cases(Closed):
    """A file of cases. `workflow` is a FILE, relative to this one."""

    workflow: str | None = None
    cases: list[Case]


@dataclass(frozen=True)
class Plan:
    """Cases that can be run: what they are of, and where they stand."""

    path: Path
    workflow: str
    cases: tuple[Case, ...]
    root: Node


@dataclass(frozen=True)
class Difference:
    """What was expected of a run and what came instead."""

    what: str
    expected: Any
    got: Any


@dataclass(frozen=True)
class Verdict:
    """How a case went; it passed when there is no difference."""

    case: Case
    differences: tuple[Difference, ...] = ()
    result: RunResult[Any] | None = field(default=None, repr=False)

    @property
    def passed(self) -> bool:
        return not self.differences


def cases_beside(file: str) -> Path:
    """Where the cases of FILE are: FILE itself, or beside it."""
    if file.endswith(SUFFIX):
        return Path(file)
    module = file.rpartition(":")[0] if ":" in Path(file).name else file
    return Path(module).with_suffix("").with_name(f"{Path(module).stem}{SUFFIX}")


def read_cases(path: Path, workflow: str | None = None) -> Plan:
    """The cases of a file. Raises SpecError with all that is wrong with it."""
    source = read_source(path)
    if source.root is None or source.faults:
        raise SpecError(source.faults)
    try:
        read = Cases.model_validate(plain(source.root))
    except ValidationError as error:
        raise SpecError([_fault(source.root, one) for one in error.errors()]) from error
    faults = [one for index, case in enumerate(read.cases) for one in _mock_faults(source.root, index, case)]
    if faults:
        raise SpecError(faults)
    beside = path.with_name(path.name.removesuffix(SUFFIX) + ".yaml")
    given = _relative(path, read.workflow) if read.workflow else str(beside)
    return Plan(path, workflow or given, tuple(read.cases), source.root)


def check_cases(path: Path) -> tuple[Diagnostic, ...]:
    """What is wrong with a file of cases."""
    try:
        read_cases(path)
    except SpecError as error:
        return error.diagnostics
    return ()


async def judged(plan: Plan, case: Case) -> Verdict:
    """Run one case and compare what came with what is expected."""
    try:
        result = await _run(plan, case)
    except (PlaitError, AssertionError) as error:
        return Verdict(case, (Difference("run", case.expect.outcome, f"{type(error).__name__}: {error}"),))
    return Verdict(case, tuple(differences(case.expect, result)), result)


def differences(expected: Expected, result: RunResult[Any]) -> Iterator[Difference]:
    """Where a run is not what is expected."""
    if result.outcome != expected.outcome:
        told = f"{result.outcome}: {result.message}" if result.message else result.outcome
        yield Difference("outcome", expected.outcome, told)
    route = [step.path for step in result.steps]
    calls = [call for step in result.steps for call in step.tool_calls if call.name != RESOLVE]
    given = expected.model_fields_set
    output = jsonable(output_of(result))
    compared: dict[str, tuple[Any, Any, bool]] = {
        "reason": (expected.reason, result.reason, expected.reason == result.reason),
        "route": (expected.route, route, expected.route == route),
        "output": (expected.output, output, fits(expected.output, output)),
        "equals": (expected.equals, output, expected.equals == output),
        "contains": (expected.contains, output, str(expected.contains) in as_json(output)),
        "calls": (expected.calls, [{call.name: dict(call.args)} for call in calls], _called(expected, calls)),
        "state": (expected.state, jsonable(result.state), fits(expected.state, jsonable(result.state or {}))),
        "model_calls": (
            expected.model_calls,
            result.usage.model_calls,
            expected.model_calls == result.usage.model_calls,
        ),
    }
    for what, (wanted, got, is_same) in compared.items():
        if what in given and not is_same:
            yield Difference(what, wanted, got)


def fits(wanted: Any, got: Any) -> bool:
    """Whether `got` is `wanted`, or holds it: of mappings only the keys that are wanted count.

    A number also fits the text that says it, as JSON writes decimals.
    """
    if isinstance(wanted, Mapping):
        return isinstance(got, Mapping) and all(
            key in got and fits(value, got[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(got, list) and len(wanted) == len(got) and all(map(fits, wanted, got))
    is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    return bool(wanted == got) or (is_number and isinstance(got, str) and got == str(wanted))


def _called(expected: Expected, calls: Sequence[Any]) -> bool:
    wanted = expected.calls or []
    return len(wanted) == len(calls) and all(
        one == call.name if isinstance(one, str) else _same_call(one, call)
        for one, call in zip(wanted, calls, strict=True)
    )


def _same_call(wanted: Mapping[str, Any], call: Any) -> bool:
    return list(wanted) == [call.name] and fits(wanted[call.name], jsonable(dict(call.args)))


async def _run(plan: Plan, case: Case) -> RunResult[Any]:
    replay = Replay(_relative(plan.path, case.recording)) if case.recording else None
    model = replay.model if replay else _player(plan, case)
    workflow = load(plan.workflow, model=model).workflow.replace(checkpointer="memory")
    result = await _answered(workflow, case)
    if replay is not None:
        replay.check()
    return result


async def _answered(workflow: Workflow[Any], case: Case) -> RunResult[Any]:
    """The run's result, once the answers of the case have been given in turn."""
    result = await _kept(workflow.run(case.input, state=case.state, context=case.context))
    for answer in case.answers:
        if result.outcome != "paused":
            break
        result = await _kept(workflow.resume(result.thread_id, answer, context=case.context))
    return result


async def _kept(work: Any) -> RunResult[Any]:
    try:
        result: RunResult[Any] = await work
    except RunError as error:
        if error.result is None:
            raise
        result = error.result
    return result


def _player(plan: Plan, case: Case) -> Any:
    """The model that plays the case's own replies; None: the workflow's mock plays."""
    if case.mock is None:
        return None
    if isinstance(case.mock, dict):
        return StandIn(scripted(mock_of(case.mock)))
    at = Reading(Book(REGISTRY, importer_beside(plan.path.resolve().parent)))
    index = plan.cases.index(case)
    read = REGISTRY.mock.read(found(plan.root, ["cases", index, "mock"]), at)
    if read is BAD:
        raise SpecError(at.book.faults)
    made = scripted(read)
    return made if hasattr(made, "ainvoke") else StandIn(made)


def _mock_faults(root: Node, index: int, case: Case) -> Iterator[Diagnostic]:
    if isinstance(case.mock, dict):
        try:
            mock_of(case.mock)
        except MockFault as error:
            place = found(root, ["cases", index, "mock", *error.path]).place
            path = f"cases[{index}].mock"
            yield Diagnostic(
                "bad-value", str(error), place.file, place.line, place.column, path, error.nearest
            )


def _fault(root: Node, error: Any) -> Diagnostic:
    steps = list(error["loc"])
    place = found(root, steps).place
    path = ".".join(map(str, steps))
    code = {"extra_forbidden": "unknown-key", "missing": "missing-key"}.get(error["type"], "wrong-type")
    told = f"{path}: {error['msg']}"
    return Diagnostic(code, told, place.file, place.line, place.column, path)  # type: ignore[arg-type]


def _relative(path: Path, named: str) -> str:
    """A FILE that is named in a file of cases, seen from the current folder."""
    module, colon, attribute = named.rpartition(":")
    where = module if colon else named
    is_file = where.endswith((".py", ".yaml", ".yml", ".jsonl"))
    return f"{path.parent / where}{colon}{attribute if colon else ''}" if is_file else named

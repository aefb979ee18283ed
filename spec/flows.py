"""The tables of flows, one for each type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from ..graphs.broadcast import BroadcastFlow
from ..graphs.composite import CompositeFlow
from ..graphs.dag import DAGFlow
from ..graphs.delegation import DelegationFlow
from ..graphs.loop import LoopFlow
from ..graphs.parallel import MapFlow, ParallelFlow
from ..graphs.reflexion import ReflexionFlow
from ..graphs.region import OnFailure, Scheduling
from ..graphs.router import RouterFlow
from ..graphs.sequential import SequentialFlow
from ..graphs.step import FunctionStep, step
from .compound import ListOf, MapOf
from .condition import Condition
from .parts import MEMBERS, PART, STEPS, Parts
from .policies import LIMITS
from .record import REQUIRED, Record, Row, rows_of
from .references import FieldOr, Import, NameOr
from .simple import Choice, Maybe, Number, Text

_WHOLE = Number(1, whole=True)
_CONDITION = Maybe(Condition())
_FUNCTION = Import("a function")
_ID = Row("id", Maybe(Text("an id")), None, "its name in paths, instead of its type")
_COMMON = (
    _ID,
    Row("when", _CONDITION, None, "it runs only if this holds"),
    Row("limits", Maybe(LIMITS), None, "what it may spend, its parts included"),
)
_REGION = (
    Row("on_failure", Choice(get_args(OnFailure)), "finish", "what becomes of the others when one fails"),
    Row("max_concurrency", Maybe(_WHOLE), None, "units and steps that run at a time"),
    Row(
        "scheduling",
        Maybe(Choice(get_args(Scheduling))),
        None,
        "eager, or superstep for step-by-step debugging",
    ),
)
_BESIDE = (
    Row("reducer", Maybe(PART), None, "runs after all of them, on their outputs"),
    Row("quorum", Maybe(_WHOLE), None, "how many are enough; the rest is cancelled"),
)


def _parallel(members: Any, **options: Any) -> Any:
    return (
        ParallelFlow(members, **options)
        if isinstance(members, Mapping)
        else ParallelFlow(*members, **options)
    )


def _stepped(function: Any, id: str | None = None, when: Any = None) -> Any:
    return step(function, id=id, when=when)


class _StepId(Row):
    """The id of a step, which is the function's name unless given."""

    def is_default(self, value: Any) -> bool:
        return bool(step(value.function).id == value.id)


def _flow(cls: Any, build: Any, *rows: Row) -> Record:
    paragraph = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    doc = f"{paragraph.split('. ')[0].rstrip('.')}."
    article = "an" if cls.type[0] in "aeiou" else "a"
    return Record(f"{article} {cls.type}", rows, build, cls, (("type", cls.type),), doc)


_SEQUENCE_STEPS = Row("steps", STEPS, (), "the parts in order; a list among them is parallel")
_FLOWS = (
    _flow(SequentialFlow, lambda steps=(), **o: SequentialFlow(*steps, **o), _SEQUENCE_STEPS, *_COMMON),
    _flow(
        LoopFlow,
        LoopFlow,
        *rows_of(
            LoopFlow,
            ("body", PART, "what runs again and again"),
            ("max_iterations", _WHOLE, "passes at most"),
            ("until", _CONDITION, "ends it when it holds after a pass"),
            ("best", Maybe(FieldOr(_FUNCTION, bare=True)), "ranks the passes when none was good"),
        ),
        *_COMMON,
    ),
    _flow(
        RouterFlow,
        RouterFlow,
        *rows_of(
            RouterFlow,
            ("router", PART, "names the handler that runs"),
            ("handlers", MapOf(PART), "the handlers by label"),
            ("route", Maybe(NameOr("a field of the output", "field")), "where in its output the label is"),
            ("default", Maybe(Text("a label")), "the handler for an unknown label"),
            also={"handlers": ("routes",)},
        ),
        *_COMMON,
    ),
    _flow(
        ParallelFlow,
        _parallel,
        Row("members", MEMBERS, REQUIRED, "what runs side by side"),
        *_BESIDE,
        *_REGION,
        *_COMMON,
    ),
    _flow(
        MapFlow,
        ParallelFlow.map,
        *rows_of(
            MapFlow,
            ("part", PART, "runs once for each item"),
            ("over", FieldOr(NameOr("a state key")), "the items: a state key, {field: name}, or a function"),
        ),
        *_BESIDE,
        *_REGION,
        *_COMMON,
    ),
    _flow(
        DAGFlow,
        lambda executors, planner=None, **o: DAGFlow(planner, executors, **o),
        Row("planner", Maybe(PART), None, "makes the plan, or runs first where dependencies are given"),
        Row("executors", MEMBERS, REQUIRED, "what steps of the plan are executed by"),
        Row("aggregator", Maybe(PART), None, "runs last, on all outputs"),
        Row(
            "dependencies",
            Maybe(MapOf(ListOf(Text("the key of an executor"), single=True))),
            None,
            "what each executor needs",
        ),
        Row("replan", Number(0, whole=True), 0, "how often the planner may be asked again"),
        Row("replan_when", _CONDITION, None, "asks the planner again when it holds for the result"),
        *_REGION,
        *_COMMON,
    ),
    _flow(
        DelegationFlow,
        DelegationFlow,
        *rows_of(
            DelegationFlow,
            ("orchestrator", PART, "the unit that delegates and has the last word"),
            ("specialists", MEMBERS, "what it may delegate to"),
            ("max_delegations", _WHOLE, "delegations in all"),
            ("max_depth", _WHOLE, "levels that specialists may delegate on"),
        ),
        *_COMMON,
    ),
    _flow(
        ReflexionFlow,
        ReflexionFlow,
        *rows_of(
            ReflexionFlow,
            ("actor", PART, "makes an attempt"),
            ("evaluator", PART, "judges it"),
            ("accept", Condition(), "whether the evaluation lets the attempt pass"),
            ("score", NameOr("a field of the evaluation", "field"), "ranks the attempts when none passed"),
            ("max_iterations", _WHOLE, "attempts at most"),
        ),
        *_COMMON,
    ),
    _flow(
        BroadcastFlow,
        lambda peers, **o: BroadcastFlow(*peers, **o),
        Row("peers", Parts(), REQUIRED, "who works side by side and hears the others"),
        Row("rounds", _WHOLE, 2, "rounds at most"),
        Row("until", _CONDITION, None, "ends it when it holds after a round"),
        *_REGION,
        *_COMMON,
    ),
    _flow(
        CompositeFlow,
        lambda steps=(), **o: CompositeFlow(*steps, **o),
        _SEQUENCE_STEPS,
        Row("id", Maybe(Text("an id")), CompositeFlow.type, "its name in paths and drawings"),
        *_COMMON[1:],
    ),
    _flow(
        FunctionStep,
        _stepped,
        Row("function", Import("a function of the Snapshot"), REQUIRED, "what is called"),
        _StepId("id", Text("an id"), None, "its name, instead of the function's"),
        Row("when", _CONDITION, None, "it runs only if this holds"),
    ),
)
FLOWS: Mapping[str, Record] = {dict(record.marks)["type"]: record for record in _FLOWS}

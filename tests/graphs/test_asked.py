"""A condition that names a field no output can have there is refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict

from plait import (
    DAGFlow,
    DefinitionError,
    LoopFlow,
    ParallelFlow,
    ReflexionFlow,
    RouterFlow,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    field,
    step,
)
from plait.graphs.parallel import MapFlow
from plait.testing import ScriptedModel


class Part(BaseModel):
    weight: int


class Verdict(BaseModel):
    score: int
    note: str
    part: Part

    @property
    def is_good(self) -> bool:
        return self.score > 5


class Partial(BaseModel):
    guess: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


@dataclass
class Plain:
    score: int


class Typed(TypedDict):
    score: int


judge = WorkflowUnit("judge", output=Verdict)
talk = WorkflowUnit("talk")
typo, right = field("scroe") >= 8, field("score") >= 8


def faults(flow: Any, **options: Any) -> list[str]:
    with pytest.raises(DefinitionError) as refused:
        Workflow(flow, model=ScriptedModel([]), **options)
    return [str(fault) for fault in refused.value.faults]


PLACES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "until": ("loop", lambda asked: LoopFlow(talk >> judge, until=asked, id="loop")),
    "accept": ("reflexion", lambda asked: ReflexionFlow(talk, judge, accept=asked)),
    "when": ("talk", lambda asked: judge >> talk.with_(when=asked)),
    "when of a flow": ("inner", lambda asked: judge >> SequentialFlow(talk, id="inner", when=asked)),
    "when inside a flow": ("i/talk", lambda asked: judge >> SequentialFlow(talk.with_(when=asked), id="i")),
    "when of a router": (
        "router/talk",
        lambda asked: judge >> RouterFlow(talk.with_(when=asked), {"x": judge}),
    ),
    "replan_when": ("dag", lambda asked: DAGFlow(talk, [step(len)], judge, replan=1, replan_when=asked)),
}
every_place = pytest.mark.parametrize(("where", "made"), PLACES.values(), ids=PLACES)


@every_place
def test_a_misspelt_field_is_a_fault_that_names_the_nearest(where, made):
    (told,) = faults(made(typo))

    assert told.startswith(f"{where}: ")
    assert told.endswith("the output of 'judge' has no field 'scroe'; the nearest is 'score'")


@every_place
def test_a_field_that_is_there_is_none(where, made):
    assert Workflow(made(right), model=ScriptedModel([]))


@pytest.mark.parametrize("name", ["best", "over"])
def test_a_bare_field_is_held_against_the_output_too(name):
    asked = field("scroe")
    flow = LoopFlow(judge, best=asked) if name == "best" else judge >> ParallelFlow.map(talk, over=asked)

    assert "the nearest is 'score'" in faults(flow)[0]


@pytest.mark.parametrize("output", [Verdict, Plain, Typed, Verdict | Plain, Plain | None])
def test_every_kind_of_output_with_fields_is_read(output):
    unit = WorkflowUnit("unit", output=output)

    assert "the nearest is 'score'" in faults(LoopFlow(unit, until=typo))[0]
    assert Workflow(LoopFlow(unit, until=right), model=ScriptedModel([]))


@pytest.mark.parametrize(
    ("name", "value"), [("part.weight", 1), ("note", "x"), ("is_good", True), ("note.whatever", 1)]
)
def test_properties_and_fields_of_fields_are_fields(name, value):
    assert Workflow(LoopFlow(judge, until=field(name) == value), model=ScriptedModel([]))


class Mood(Enum):
    GOOD = "good"


class Judged(BaseModel):
    word: Literal["good", "ok"] | None
    mood: Mood
    due: date
    price: Decimal
    note: str


@pytest.mark.parametrize(
    "condition",
    [
        field("word") == "goood",
        field("mood") != "bad",
        field("due") >= "soon",
        field("price") == "cheap",
        field("note") == 5,
    ],
)
def test_a_value_that_no_such_field_can_have_is_a_fault(condition):
    (told,) = faults(LoopFlow(WorkflowUnit("judge", output=Judged), until=condition))
    assert repr(condition.value) in told


@pytest.mark.parametrize(
    "condition",
    [
        field("word") == "ok",
        field("word") == None,  # noqa: E711
        field("mood") == Mood.GOOD,
        field("mood") == "good",
        field("due") >= "2026-01-01",
        field("price") > 0.5,
        field("price") == "0.50",
    ],
)
def test_a_value_that_the_field_can_have_is_none(condition):
    assert Workflow(LoopFlow(WorkflowUnit("judge", output=Judged), until=condition), model=ScriptedModel([]))


def test_the_field_that_scores_is_looked_for_in_the_evaluation():
    assert "'score'" in faults(ReflexionFlow(talk, judge, accept=field("note") == "x", score="scor"))[0]
    assert Workflow(
        ReflexionFlow(talk, judge.with_(output=Part), accept=field("weight") == 1), model=ScriptedModel([])
    )


class Keys(TypedDict):
    log: list[str]


def test_keys_that_the_typed_state_does_not_have_are_faults():
    writer = WorkflowUnit("writer", output_adapter="lgo", writes=("log", "nope"))
    told = faults(writer, state=Keys)
    assert ("'nope'" in told[0], "the nearest is 'log'" in told[1]) == (True, True)
    over = MapFlow(writer.with_(output_adapter="log", writes=()), over="lgo")
    assert "over=: the state has no key 'lgo'; the nearest is 'log'" in "".join(faults(over, state=Keys))


def test_a_field_of_a_field_may_be_misspelt_too():
    assert "no field 'part.wieght'" in faults(LoopFlow(judge, until=field("part.wieght") == 1))[0]


@pytest.mark.parametrize(
    "body",
    [
        talk,
        WorkflowUnit("open", output=Open),
        WorkflowUnit("mapping", output=dict[str, int]),
        step(lambda snapshot: {"scroe": 9}, id="function"),
        ParallelFlow(judge, talk),
        judge >> talk.with_(when=right),
    ],
    ids=lambda body: str(body.id or body.type),
)
def test_an_output_that_is_not_known_is_not_judged(body):
    assert Workflow(LoopFlow(body, until=typo), model=ScriptedModel([]))


def test_what_may_be_skipped_leaves_open_what_flows_on():
    assert Workflow(
        talk >> judge.with_(when=None) >> judge.with_(id="b", when=right), model=ScriptedModel([])
    )
    flow = judge >> talk.with_(when=right) >> judge.with_(id="c", when=typo)
    assert Workflow(flow, model=ScriptedModel([]))


def test_what_is_salvaged_counts():
    flow = LoopFlow(judge.with_(salvage=Partial), until=field("guess") == 1)
    assert Workflow(flow, model=ScriptedModel([]))


class Vague(BaseModel):
    kind: str
    why: str


class Labelled(BaseModel):
    label: str
    why: str


def test_a_router_with_several_fields_must_say_which_one_is_the_route():
    vague = WorkflowUnit("vague", output=Vague)

    (told,) = faults(RouterFlow(vague, {"x": judge}))
    assert told.startswith("vague: none of kind, why is called route")
    (told,) = faults(RouterFlow(vague, {"x": judge}, route="knid"))
    assert told.endswith("route='knid' is no field of its output; the nearest is 'kind'")


@pytest.mark.parametrize(
    ("output", "route"),
    [(Vague, "kind"), (Vague, lambda given: given.kind), (Labelled, None), (Partial, None), (str, None)],
)
def test_a_router_whose_route_is_clear_is_fine(output, route):
    flow = RouterFlow(WorkflowUnit("chooser", output=output), {"x": judge}, route=route)
    assert Workflow(flow, model=ScriptedModel([]))

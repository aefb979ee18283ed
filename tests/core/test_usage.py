"""Usage adds up, limits mean what they say, and a meter counts children at every level at once."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait import Limits, Usage
from plait.core.usage import Breach
from plait.nodes.meter import Meter

usages = st.builds(Usage, *[st.integers(0, 99)] * 6, estimated=st.booleans())


@given(usages, usages, usages)
def test_usage_adds_in_any_order(a: Usage, b: Usage, c: Usage) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert Usage() + a == a == Usage.total([a])


@given(usages, usages)
def test_taking_away_undoes_adding(a: Usage, b: Usage) -> None:
    left = (a + b) - b
    assert (left.tokens, left.model_calls, left.tool_calls) == (a.tokens, a.model_calls, a.tool_calls)


@given(usages)
def test_usage_survives_its_plain_form(a: Usage) -> None:
    assert Usage.from_plain(a.to_plain()) == a


@pytest.mark.parametrize("name", ["tokens", "model_calls", "tool_calls", "seconds"])
def test_a_negative_limit_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: -1})


def test_a_breach_says_which_limit_of_what() -> None:
    assert str(Breach("tokens", 10, "deep/a")) == "limit tokens=10 of deep/a is used up"
    assert str(Breach("seconds", 0.5)) == "limit seconds=0.5 of the run is used up"
    assert str(Breach("tokens", 10, "[2]")) == "limit tokens=10 of pass 2 of the run is used up"
    assert str(Breach("tokens", 10, "[2][1]")) == "limit tokens=10 of pass 2.1 of the run is used up"


# The meter


@pytest.mark.parametrize("limits", [Limits(tokens=0), Limits(model_calls=0), Limits(seconds=0)])
def test_zero_forbids_the_first_model_call(limits: Limits) -> None:
    assert Meter(limits).breach()


def test_zero_tool_calls_forbid_tools_alone() -> None:
    meter = Meter(Limits(tool_calls=0))
    assert meter.breach() is None
    assert meter.tool_calls_left() == 0
    assert meter.tool_breach() == Breach("tool_calls", 0)


def test_no_limits_forbid_nothing() -> None:
    meter = Meter(None, spent=Usage(10**9, 10**9, model_calls=10**6))
    assert (meter.breach(), meter.tool_calls_left(), meter.seconds_left()) == (None, None, None)


def test_what_a_part_reports_replaces_what_it_reported_before() -> None:
    meter = Meter(Limits(model_calls=3))
    for calls in (1, 2):
        meter.report("a", Usage(model_calls=calls))
    assert meter.spent.model_calls == 2
    meter.report("b", Usage(model_calls=1))
    assert meter.breach() == Breach("model_calls", 3)


def test_children_count_for_every_parent_and_not_for_each_other() -> None:
    run = Meter(Limits(model_calls=4))
    flow = Meter(Limits(model_calls=3), path="flow", parent=run)
    a, b = (Meter(Limits(model_calls=2), path=path, parent=flow) for path in ("flow/a", "flow/b"))
    a.report("flow/a", Usage(model_calls=2))
    assert (a.breach() or Breach("", 0)).path == "flow/a"
    assert b.breach() is None
    b.report("flow/b", Usage(model_calls=1))
    assert (b.breach() or Breach("", 0)).path == "flow"
    assert (run.spent.model_calls, run.breach()) == (3, None)


def test_the_fewest_calls_left_over_all_levels_count() -> None:
    run = Meter(Limits(tool_calls=5), spent=Usage(tool_calls=3))
    unit = Meter(Limits(tool_calls=4), path="a", parent=run)
    assert unit.tool_calls_left() == 2
    assert Meter(Limits(), parent=unit).tool_calls_left() == 2


def test_what_was_spent_before_counts() -> None:
    assert Meter(Limits(tokens=10), spent=Usage(6, 4)).breach() == Breach("tokens", 10)


def test_seconds_count_from_the_start_and_the_nearest_end_wins() -> None:
    run = Meter(Limits(seconds=100), started=time.time() - 40)
    unit = Meter(Limits(seconds=90), path="a", parent=run)
    left = unit.seconds_left()
    assert left is not None
    assert 55 < left < 61


def test_time_that_is_up_names_whose_it_was() -> None:
    run = Meter(Limits(seconds=10), started=time.time() - 11)
    unit = Meter(Limits(seconds=90), path="a", parent=run)
    assert unit.breach() == Breach("seconds", 10) == unit.seconds_breach()

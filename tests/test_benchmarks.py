"""The benchmarks compare like with like: both sides of every case give the same result."""

import pytest

from plait.benchmarks.cases import cases
from plait.benchmarks.dag import critical_path
from plait.benchmarks.measure import Case, Row, Sample, check, table

QUICK = list(cases(quick=True))


@pytest.mark.parametrize("case", QUICK, ids=[case.name for case in QUICK])
async def test_both_sides_of_a_case_give_the_same_result(case):
    await check(case)


async def test_sides_that_differ_are_refused_before_they_are_timed():
    async def one() -> int:
        return 1

    async def two() -> int:
        return 2

    with pytest.raises(AssertionError, match="plait gave 2, hand 1"):
        await check(Case("sums", one, two))


def test_the_critical_path_is_the_longest_way_through_the_steps():
    needs = {"a": (), "b": ("a",), "c": (), "d": ("b", "c")}

    assert critical_path(needs, {"a": 1, "b": 2, "c": 5, "d": 1}) == 6


def test_the_table_says_which_targets_are_missed():
    case = Case("sums", QUICK[0].hand, QUICK[0].plait, target=0.5)
    row = Row(case, {"hand": Sample((2.0, 4.0, 3.0)), "plait": Sample((6.0, 6.0, 6.0))})

    assert row.ratio == 2
    assert table([row]).splitlines()[2].split() == [
        *("sums", "ms", "CPU", "3.00", "1.00", "6.00", "0.00", "2.00", "0.50", "MISSED")
    ]

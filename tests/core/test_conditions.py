"""A condition compares what is there with a value of the field's own type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from plait import field
from plait.core.conditions import Comparison
from plait.core.errors import PlaitError


class Mood(Enum):
    GOOD = "good"


class Named(BaseModel):
    copy_: int = Field(alias="copy")
    model_config = {"extra": "allow"}


@dataclass
class Seen:
    """As much of a Snapshot as a condition reads."""

    output: Any


def holds(condition: Comparison, output: Any) -> bool:
    return condition(Seen(output))  # type: ignore[arg-type]


ID = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        (Decimal("0.1"), field("f") == 0.1),
        (Decimal("0.1"), field("f") >= 0.1),
        (Decimal("0.10"), field("f") == "0.1"),
        (date(2026, 5, 5), field("f") >= "2026-01-01"),
        (date(2026, 5, 5), field("f") == "2026-05-05"),
        (datetime(2026, 5, 5, 8, tzinfo=UTC), field("f") > "2026-05-05"),
        (datetime(2026, 5, 5, 8, tzinfo=UTC), field("f") < date(2026, 5, 6)),
        (timedelta(hours=2), field("f") >= "PT1H"),
        (UUID(ID), field("f") == ID),
        (Mood.GOOD, field("f") == "good"),
        (Mood.GOOD, field("f") == Mood.GOOD),
        (None, field("f") == None),  # noqa: E711
        (None, field("f") != "bad"),
        (8, field("f") >= 8),
        (True, field("f") == True),  # noqa: E712
    ],
)
def test_a_value_is_read_as_the_type_of_the_field(value, condition):
    assert holds(condition, {"f": value})


@pytest.mark.parametrize(
    ("output", "condition"),
    [
        ({}, field("f") == None),  # noqa: E711
        ({}, field("f") != 1),
        ({"f": None}, field("f") >= 1),
        ({"f": date(2026, 5, 5)}, field("f") == "soon"),
        ({"f": Decimal(1)}, field("f") == "one"),
        ({"f": "x"}, field("f.g") == 1),
    ],
)
def test_what_is_not_there_and_what_is_no_such_value_is_never_true(output, condition):
    assert not holds(condition, output)


@pytest.mark.parametrize(("value", "limit"), [("high", 8), (date(2026, 5, 5), "soon"), ([1], 1)])
def test_an_order_that_there_is_not_is_told(value, limit):
    with pytest.raises(PlaitError, match="compare it with a value of its own type"):
        holds(field("f") >= limit, {"f": value})


def test_a_field_is_found_by_the_name_in_the_schema_also_where_pydantic_has_a_use_for_it():
    output = Named.model_validate({"copy": 9, "json": 1})
    assert holds(field("copy") >= 8, output)
    assert holds(field("copy_") >= 8, output)
    assert holds(field("json") == 1, output)

"""Scripted models made by `support.scripted` must be used up, and their requests must keep the rules."""

from typing import Any

import pytest

from ..support import model_rules  # noqa: F401 - a fixture, used by name


@pytest.fixture(autouse=True)
def _rules_of_every_request(model_rules: Any) -> None:  # noqa: F811 - the fixture imported above
    """`model_rules` for every test in this folder."""

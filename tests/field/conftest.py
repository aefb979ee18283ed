"""Every scripted model of these tests must be used up, and its requests must keep the rules."""

from typing import Any

import pytest

from plait import Workflow

from ..support import model_rules  # noqa: F401 - a fixture, used by name


@pytest.fixture(autouse=True)
def _rules_of_every_request(model_rules: Any) -> None:  # noqa: F811 - the fixture imported above
    """`model_rules` for every test in this folder."""


@pytest.fixture(autouse=True, params=["round", "unit"])
def _both_drivers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case under both granularities."""
    monkeypatch.setitem(Workflow.__init__.__kwdefaults__, "granularity", request.param)

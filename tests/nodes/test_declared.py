"""What a tool may declare of its effect, and what is refused when it is declared."""

from typing import Any

import pytest

from plait import DefinitionError, journaled, tool


def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


def test_a_probe_takes_the_arguments_of_its_tool() -> None:
    assert tool(pay, probe=lambda amount: None).metadata["plait_effect"] == "probe"
    assert tool(pay, probe=lambda **args: None).metadata["plait_effect"] == "probe"


@pytest.mark.parametrize("probe", [lambda: None, lambda sum: None, lambda amount, to: None])
def test_a_probe_that_takes_others_is_refused(probe: Any) -> None:
    with pytest.raises(DefinitionError, match=r"the probe of pay must take its arguments \(amount\)"):
        tool(pay, probe=probe)


def test_what_cannot_be_journaled_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"give journaled\(\[pay\]\)"):
        journaled(pay)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="pay: journaled already"):
        journaled(journaled([pay]))

"""The refunds: what is asked of whom, and what is paid, once."""

from pathlib import Path
from typing import Any

import pytest

from plait import approve, edit, reject, respond
from plait.examples.approvals import DEMO, FREE_HAND, ORDERS, Till, main, refund_workflow, scripted_model


@pytest.fixture
def till(tmp_path: Path) -> Path:
    return tmp_path / "till.db"


async def refunded(till: Path, message: str, *answers: Any) -> Any:
    """What comes of a message whose questions are answered so, one after another."""
    workflow = refund_workflow(scripted_model(), till=till)
    result = await workflow.run(message, thread_id="t")
    for answer in answers:
        assert result.outcome == "paused"
        result = await workflow.resume("t", answer)
    return result


async def test_a_small_refund_is_paid_without_asking(till: Path) -> None:
    assert "40 is on its way for A17" in (await refunded(till, "Refund A17.")).output
    assert Till(till).refunded("A17", 40) == "40 paid back for A17"


async def test_a_message_without_an_order_is_asked_about(till: Path) -> None:
    result = await refunded(till, "My chair wobbles.", "It is A19.")
    assert "95 is on its way for A19" in result.output


@pytest.mark.parametrize(
    ("decision", "told", "paid"),
    [
        (approve(), "240 is on its way", 240),
        (edit({"order": "A18", "amount": 30}), "30 is on its way", 30),
        (reject("too much"), "too much", None),
        (respond("It was paid in cash."), "paid in cash", None),
    ],
    ids=["approve", "edit", "reject", "respond"],
)
async def test_a_large_refund_waits_for_a_person(till: Path, decision: Any, told: str, paid: Any) -> None:
    assert ORDERS["A18"][1] > FREE_HAND
    result = await refunded(till, "Refund A18.", decision)
    assert told in result.output
    assert Till(till).refunded("A18", 0) == (f"{paid} paid back for A18" if paid else None)


async def test_an_order_is_refunded_once(till: Path) -> None:
    await refunded(till, "Refund A17.")
    again = await refunded(till, "Refund A17, only 5.")
    assert "A17 was refunded before" in again.output


async def test_an_unknown_order_is_not_refunded(till: Path) -> None:
    assert "cannot refund B99" in (await refunded(till, "Refund B99.")).output


def test_the_demo_answers_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--demo"]) == 0
    told = capsys.readouterr().out
    assert DEMO in told
    assert "240 is on its way for A18" in told


def test_the_command_asks_at_the_terminal(
    till: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda shown: "too much" if "240 is more" in shown else "A18")
    assert main([DEMO, "--till", str(till)]) == 0
    assert "too much" in capsys.readouterr().out


def test_a_terminal_that_is_closed_is_said(
    till: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(shown: str) -> str:
        raise EOFError("the input has ended")

    monkeypatch.setattr("builtins.input", closed)
    assert main([DEMO, "--till", str(till)]) == 1
    assert "the input has ended" in capsys.readouterr().err
    assert Till(till).refunded("A18", 240) is None

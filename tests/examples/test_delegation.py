"""Delegation: a researcher, a coder who is checked, and an orchestrator who has the last word."""

import pytest

from plait import RunError
from plait.core.bus import DelegationMessage, Steering
from plait.examples.delegation import DEMO, SCRIPT, delegating_workflow, look_up, main, scripted_model
from plait.examples.models import NO_KEY
from plait.testing import ScriptedModel, call

ROUND = ["coder[1][{}]/author", "coder[1][{}]/critic"]


def rounds(count: int) -> list[str]:
    return [path.format(number) for number in range(1, count + 1) for path in ROUND]


@pytest.mark.parametrize(
    ("task", "answer", "count"),
    [
        (DEMO, "body mass index = 22.857143", 2),
        ("average speed, distance=120 time=1.5", "average speed = 80", 1),
        ("fahrenheit, celsius=-40", "fahrenheit = -40", 1),
        ("kinetic energy: mass=2 speed=10", "kinetic energy = 100", 2),
        ("compound interest, principal=1000 growth=1.05 years=10", "compound interest = 1628.894627", 2),
    ],
)
async def test_a_task_is_worked_out_and_the_code_improved_until_it_is_right(task, answer, count):
    result = await delegating_workflow(scripted_model()).run(task)
    assert result.output == answer
    assert [step.path for step in result.steps] == ["researcher[1]", *rounds(count), "orchestrator"]
    assert result.outcome == "done"


async def test_the_critic_says_what_the_code_gives_and_the_coder_hears_it():
    result = await delegating_workflow(scripted_model()).run(DEMO)
    verdicts = [step.output for step in result.steps if step.unit == "critic"]
    assert [verdict.score for verdict in verdicts] == [2, 10]
    assert verdicts[0].feedback == "for weight=80 height=2 it gives 40, not 20"
    heard = [message.content for message in result.bus if isinstance(message, Steering)]
    assert ["it gives 40" in said for said in heard] == [True]
    codes = [step.output.formula for step in result.steps if step.unit == "author"]
    assert codes == ["weight / height", "weight / height ** 2"]


async def test_delegations_are_on_the_bus_and_in_the_usage():
    result = await delegating_workflow(scripted_model()).run(DEMO)
    asked = [(m.source, m.target) for m in result.bus if isinstance(m, DelegationMessage)]
    assert asked == [("orchestrator", "researcher"), ("orchestrator", "coder")]
    assert result.steps[0].delegated_by == "orchestrator"
    assert result.usage.model_calls == 4 + 2 + 2 * (1 + 2)
    assert result.usage.model_calls == sum(step.usage.model_calls for step in result.steps)


async def test_what_nobody_knows_ends_with_a_clear_word():
    result = await delegating_workflow(scripted_model()).run("moon phase, day=3")
    assert "nothing is known about 'moon phase'" in result.output
    assert [step.path for step in result.steps] == ["researcher[1]", "orchestrator"]


async def test_code_that_never_gets_right_still_comes_back_with_what_it_is():
    wrong = call("resolve", formula="weight")
    result = await delegating_workflow(ScriptedModel({**SCRIPT, "author": [wrong] * 3})).run(DEMO)
    assert [step.path for step in result.steps][1:-1] == rounds(3)
    assert result.output == "body mass index = 70"


async def test_a_run_streams_the_specialists():
    events = [event async for event in delegating_workflow(scripted_model()).stream(DEMO)]
    ended = [event.path for event in events if event.type == "agent_end"]
    assert ended == ["researcher[1]", *rounds(2), "orchestrator", ""]
    assert events[-1].result.output == "body mass index = 22.857143"


async def test_a_model_that_fails_fails_the_run():
    with pytest.raises(RunError, match="dead"):
        await delegating_workflow(ScriptedModel([OSError("dead")] * 9)).run(DEMO)


def test_formulas_are_found_by_the_most_words():
    assert look_up("the area of a circle").startswith("circle area = ")
    assert look_up("speed").startswith("average speed = ")
    assert look_up("") == "nothing is known about ''"


def test_the_command_says_which_model_runs_and_who_asked_whom(monkeypatch, capsys):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main([]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == NO_KEY
    assert "  done     researcher[1], asked by orchestrator" in shown
    assert shown[-1] == "body mass index = 22.857143"

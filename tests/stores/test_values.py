"""Field case F41: a value comes back equal and of its type, or is refused when it is written."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from plait import RunError, ToolRuntime, ValueRefused, Workflow, WorkflowUnit, step
from plait.testing import ScriptedModel, call

CIRCLE = "from dataclasses import dataclass\n\n\n@dataclass\nclass {name}:\n    {field}: {type}\n"
NOW = CIRCLE.format(name="Circle", field="radius", type="int")
LATER = {
    "missing": CIRCLE.format(name="Round", field="radius", type="int")
    + "\n\ndef Circle(radius):\n    return Round(radius)\n",
    "renamed": CIRCLE.format(name="Circle", field="size", type="int"),
}
REFUSED = {
    "function": (lambda: 1, "function"),
    "surrogate": ("half \ud83d", "str"),
    "inside": ({"deep": [1, {"half": "\ud83d"}]}, "str"),
}
CHANGES = [  # how the class changes, where the value is, and which saver holds it
    ("missing", "state", "sqlite"),
    ("renamed", "output", "sqlite"),
    ("renamed", "state", "postgres"),
]


def test_f41_values_come_back_in_another_process_equal_and_of_their_types(
    program: Any, lasting_url: str
) -> None:
    assert program("values", lasting_url, "write") == {"outcome": "paused"}
    assert program("values", lasting_url, "read") == {
        key: [] for key in ("state", "session", "outputs", "result", "steps")
    }


@pytest.fixture(params=REFUSED)
def refused(request: pytest.FixtureRequest) -> Any:
    return request.param, *REFUSED[request.param]


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), 2**70, {2: Fraction(1, 3)}], ids=["fraction", "big", "inside"]
)
async def test_f41_an_output_that_langgraph_cannot_write_comes_back_all_the_same(
    value: Any, saver_url: Any
) -> None:
    workflow = Workflow(step(lambda snapshot: value, id="made"), checkpointer=saver_url)
    await workflow.run("go", thread_id="t")
    found = await workflow.thread("t").result()
    assert (found.output, type(found.output)) == (value, type(value))


async def test_f41_what_cannot_come_back_is_refused_by_the_state(refused: Any, saver_url: Any) -> None:
    key, value, kind = refused
    caught: list[ValueRefused] = []

    def write(runtime: ToolRuntime) -> str:
        """Write."""
        try:
            runtime.shared.set(key, value)
        except ValueRefused as error:
            caught.append(error)
        return "tried"

    model = ScriptedModel([call("write"), call("resolve", value="done")])
    result = await Workflow(WorkflowUnit("work", tools=[write]), model=model, checkpointer=saver_url).run(
        "go"
    )
    assert (result.state, caught[0].value_type.__name__) == ({}, kind)
    assert caught[0].key.startswith(key)
    assert key in str(caught[0])
    assert kind in str(caught[0])


async def test_f41_what_cannot_come_back_is_refused_as_an_output(refused: Any, saver_url: Any) -> None:
    _, value, kind = refused
    flow = step(lambda snapshot: 1, id="fine") >> step(lambda snapshot: value, id="made")
    with pytest.raises(RunError, match=kind) as raised:
        await Workflow(flow, checkpointer=saver_url).run("go", thread_id="t")
    assert (raised.value.reason, raised.value.path) == ("refused-value", "made")
    assert "output of made" in str(raised.value)


@pytest.mark.parametrize(("change", "where", "lasting_url"), CHANGES, indirect=["lasting_url"])
def test_f41_a_changed_class_stops_the_resume_and_leaves_the_thread_as_it_was(
    program: Any, lasting_url: str, tmp_path: Path, change: str, where: str
) -> None:
    shapes = tmp_path / "shapes.py"
    shapes.write_text(NOW)
    before = program("classes", lasting_url, str(tmp_path), "run", where)
    shapes.write_text(LATER[change] + "\n")
    stopped = program("classes", lasting_url, str(tmp_path), "resume", where)
    assert stopped["raised"][:2] == ["shape" if where == "state" else "output of made", "shapes:Circle"]
    assert stopped["checkpoints"] == before["checkpoints"]
    shapes.write_text(NOW)
    assert program("classes", lasting_url, str(tmp_path), "resume", where)["raised"] == []


@pytest.mark.parametrize("lasting_url", ["sqlite"], indirect=True)
def test_f41_a_missing_class_stops_a_new_turn_too(program: Any, lasting_url: str, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.py"
    shapes.write_text(NOW)
    before = program("classes", lasting_url, str(tmp_path), "run", "state")
    shapes.write_text(LATER["missing"])
    stopped = program("classes", lasting_url, str(tmp_path), "turn", "state")
    assert stopped["raised"][:2] == ["shape", "shapes:Circle"]
    assert stopped["checkpoints"] == before["checkpoints"]

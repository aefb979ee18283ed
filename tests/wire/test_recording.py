"""Recordings of real clients over HTTP: what was on the wire comes back, and no key is in the file."""

from pathlib import Path

import pytest

from plait import RunError, Workflow, WorkflowUnit
from plait.testing import Recording, Replay

from .servers import says
from .support import plain, ran

KEY = "sk-not-to-be-seen"


def find(*tools):
    return WorkflowUnit("find", prompt="Find the city.", tools=tools)


async def search(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@pytest.mark.parametrize("again", [False, True], ids=["replayed whole", "replayed streamed"])
async def test_a_run_over_http_is_replayed_without_a_server(server, chat, streamed, again, tmp_path: Path):
    server.script("Find the city", says(("search", {"q": "Seine"})), says(("resolve", {"value": "Paris"})))
    model = chat(server.base_url, api_key=KEY, default_headers={"x-team": "hidden"})
    with Recording(tmp_path / "run.jsonl") as recording:
        workflow = Workflow(find(*recording.tools([search])), model=recording.model(model))
        result = await ran(workflow, streamed=streamed)
    with Replay(tmp_path / "run.jsonl") as replay:
        workflow = Workflow(find(*replay.tools([search])), model=replay.model)
        replayed = await ran(workflow, streamed=again)
    assert replayed.output == result.output == "Paris"
    assert [step.tool_calls for step in replayed.steps] == [step.tool_calls for step in result.steps]
    written = (tmp_path / "run.jsonl").read_text()
    assert not [word for word in (KEY, "hidden", "x-team", server.base_url) if word in written]


async def test_a_refused_key_is_not_written_down(wire, chat, tmp_path: Path):
    refusal = {"error": {"message": f"Incorrect API key provided: {KEY}", "type": "invalid_request_error"}}
    wire.script(plain(refusal, 401))
    with Recording(tmp_path / "run.jsonl") as recording, pytest.raises(RunError):
        await Workflow(find(), model=recording.model(chat(wire.base_url, api_key=KEY))).run("Go.")
    assert "401" in (tmp_path / "run.jsonl").read_text()
    assert KEY not in (tmp_path / "run.jsonl").read_text()
    with Replay(tmp_path / "run.jsonl") as replay, pytest.raises(RunError, match="the key was refused"):
        await Workflow(find(), model=replay.model).run("Go.")

"""The compiled graph as the whole of a hand-written server's job: turns, streams, questions over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from plait import Workflow


class Turn(BaseModel):
    messages: list[dict[str, Any]] = []
    resume: Any = None


def server(graph: Any) -> FastAPI:
    app = FastAPI()

    def config(thread: str) -> Any:
        return {"configurable": {"thread_id": thread}}

    @app.post("/threads/{thread}")
    async def turn(thread: str, body: Turn) -> dict[str, Any]:
        given = Command(resume=body.resume) if body.resume is not None else {"messages": body.messages}
        values = await graph.ainvoke(given, config(thread))
        asked = [item.value["question"] for item in values.get("__interrupt__", ())]
        return {"asked": asked, "answer": values["messages"][-1].text, "outcome": values.get("outcome")}

    @app.post("/threads/{thread}/stream")
    async def stream(thread: str, body: Turn) -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            async for chunk, about in graph.astream(
                {"messages": body.messages}, config(thread), stream_mode="messages"
            ):
                yield json.dumps({"text": chunk.text, "node": about["langgraph_node"]}) + "\n"

        return StreamingResponse(lines())

    @app.get("/threads/{thread}")
    async def state(thread: str) -> dict[str, Any]:
        held = await graph.aget_state(config(thread))
        return {
            "next": held.next,
            "said": [[message.type, message.text] for message in held.values.get("messages", ())],
        }

    return app


@pytest.fixture
async def client(workflow: Workflow) -> AsyncIterator[httpx.AsyncClient]:
    app = server(workflow.compile(checkpointer=InMemorySaver()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
        yield client


def says(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def test_a_turn_answers(client: httpx.AsyncClient) -> None:
    answered = (await client.post("/threads/a", json=says("hi"))).json()
    assert answered == {"asked": [], "answer": "hello yourself", "outcome": "done"}


async def test_a_thread_remembers_and_others_do_not(client: httpx.AsyncClient) -> None:
    for thread in ("a", "a", "b"):
        await client.post(f"/threads/{thread}", json=says("hi"))
    assert len((await client.get("/threads/a")).json()["said"]) == 4
    assert len((await client.get("/threads/b")).json()["said"]) == 2


async def test_a_question_goes_out_and_its_answer_comes_in(client: httpx.AsyncClient) -> None:
    asked = (await client.post("/threads/a", json=says("book it"))).json()
    assert asked["asked"] == ["how much?"]
    assert (await client.get("/threads/a")).json()["next"] == ["record"]
    done = (await client.post("/threads/a", json={"resume": 32})).json()
    assert done == {"asked": [], "answer": "answer: 32", "outcome": "done"}


async def test_text_is_streamed(client: httpx.AsyncClient) -> None:
    answered = await client.post("/threads/a/stream", json=says("hi"))
    parts = [json.loads(line) for line in answered.text.splitlines()]
    assert "hello yourself" in "".join(part["text"] for part in parts)


async def test_a_new_message_on_a_waiting_thread_starts_a_clean_turn(client: httpx.AsyncClient) -> None:
    await client.post("/threads/a", json=says("book it"))
    answered = (await client.post("/threads/a", json=says("hi"))).json()
    assert answered == {"asked": [], "answer": "hello yourself", "outcome": "done"}


async def test_a_request_without_anything_to_do_is_an_error_that_says_so(client: httpx.AsyncClient) -> None:
    with pytest.raises(Exception, match="nothing to do"):
        await client.post("/threads/a", json={"messages": []})


async def test_blocks_of_plain_json_are_taken_as_content(client: httpx.AsyncClient) -> None:
    blocks = [{"type": "text", "text": "hi there"}]
    answered = (
        await client.post("/threads/a", json={"messages": [{"role": "user", "content": blocks}]})
    ).json()
    assert answered["answer"] == "hello yourself"


async def test_the_input_and_output_have_a_json_schema(workflow: Workflow) -> None:
    assert {"task", "messages", "state"} == set(workflow.graph.get_input_jsonschema()["properties"])
    assert {"output", "outcome", "messages", "steps", "state"} == set(
        workflow.graph.get_output_jsonschema()["properties"]
    )

"""The chat of `chat.py` over HTTP: `python -m plait.examples.chat_server --port 8000`.

    POST /users/{user}/messages        {"text": "…", "id": "…"} -> the events of the turn, as they happen
    GET  /users/{user}/events?after=7  the events of the user's latest turn from number 8 on
    GET  /users/{user}/history         what was said

Events are server-sent; their ids are the sequence numbers of the run, so that a browser's `EventSource`
goes on by itself after a lost connection. A turn does not end with its connection, and one that a crash of
the server cut off is finished when its user comes back. The `id` of a message makes it safe to send again.
"""

# No `from __future__ import annotations` here: FastAPI reads the annotations, and its names are local.

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage

from plait import Event, MissingExtra, PlaitError, Run, RunError, RunResult, Workflow
from plait.examples.chat import chat_workflow, scripted_model
from plait.examples.models import chosen_model

HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class Busy(Exception):
    """A user sent a message while the turn of another one was under way."""


class Chats:
    """Each user's thread, and the latest turn of each in this process."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._latest: dict[str, tuple[str, Run]] = {}
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def latest(self, user: str) -> Run | None:
        """The turn that runs, or ran last, in this process."""
        return self._latest.get(user, ("", None))[1]

    async def begin(self, user: str, text: str, message_id: str) -> Run | RunResult:
        """Start a turn. A message that was taken before is not run again: its turn or its result is given.

        Raises Busy.
        """
        async with self._locks[user]:
            held_id, held = self._latest.get(user, ("", None))
            if held is not None and held_id == message_id:
                return held
            if held is not None and not held.is_done:
                raise Busy
            result = await self._finished(user)
            if result is not None and message_id in [message.id for message in result.messages]:
                return result
            run = self._workflow.start([HumanMessage(text, id=message_id)], thread_id=user)
            self._latest[user] = message_id, run
            return run

    async def history(self, user: str) -> Sequence[BaseMessage]:
        """What was said, a turn that was cut off included once it is finished."""
        async with self._locks[user]:
            run = self.latest(user)
            known = await self._finished(user) if run is None or run.is_done else await self._known(user)
        return known.messages if known else ()

    async def _finished(self, user: str) -> RunResult | None:
        """The last turn's result; one that a crash cut off is finished first."""
        known = await self._known(user)
        if known is not None and known.outcome == "cancelled":
            try:
                return await self._workflow.resume(user)
            except RunError as error:  # it failed, which its user may read like any other result
                known = error.result
        return known

    async def _known(self, user: str) -> RunResult | None:
        try:
            return await self._workflow.thread(user).result()
        except PlaitError:
            return None


def create_app(workflow: Workflow) -> Any:
    """The FastAPI application. Raises MissingExtra when FastAPI is not installed."""
    try:
        from fastapi import FastAPI, HTTPException, Request, Response
        from fastapi.responses import StreamingResponse
        from pydantic import BaseModel, Field
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "fastapi", "examples") from error

    class Message(BaseModel):
        text: str = Field(min_length=1)
        id: str = Field(
            min_length=1, description="the client's own; the same when it sends the message again"
        )

    @asynccontextmanager
    async def opened(_: FastAPI) -> AsyncIterator[None]:
        async with workflow:
            yield

    chats = Chats(workflow)
    app = FastAPI(title="A routed chat", lifespan=opened)

    def streamed(lines: AsyncIterator[str]) -> Response:
        return StreamingResponse(lines, media_type="text/event-stream", headers=HEADERS)

    @app.post("/users/{user}/messages")
    async def send(user: str, message: Message) -> Response:
        try:
            turn = await chats.begin(user, message.text, message.id)
        except Busy:
            raise HTTPException(409, "the former message is still being answered") from None
        return streamed(_lines(turn, 0) if isinstance(turn, Run) else _ended(turn))

    @app.get("/users/{user}/events")
    async def events(user: str, request: Request, after: int = 0) -> Response:
        run = chats.latest(user)
        if run is None:
            return Response(status_code=204)  # which also tells an EventSource to stop asking
        return streamed(_lines(run, int(request.headers.get("last-event-id") or after)))

    @app.get("/users/{user}/history")
    async def history(user: str) -> list[dict[str, Any]]:
        said = await chats.history(user)
        return [{"role": message.type, "text": message.text, "id": message.id} for message in said]

    return app


async def _lines(run: Run, after: int) -> AsyncIterator[str]:
    """The events of a run as server-sent ones. The run goes on when nobody reads them."""
    try:
        async for event in run.events(after=after):
            yield _line(event)
    except PlaitError as error:  # the turn could not begin
        yield _line(Event("agent_end", outcome="failed", error=str(error)))


async def _ended(result: RunResult) -> AsyncIterator[str]:
    """The last event alone, of a turn whose others were lost with the process that ran it."""
    yield _line(Event("agent_end", outcome=result.outcome, reason=result.reason, result=result))


def _line(event: Event) -> str:
    plain = event.to_plain()
    plain.pop("message", None)
    if event.result is not None:
        plain["output"] = event.result.stored.plain
    told = json.dumps(plain, ensure_ascii=False, default=str)
    return f"id: {event.sequence}\nevent: {event.type}\ndata: {told}\n\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="chat_server", description="A routed chat over HTTP.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--checkpointer", default="sqlite:///chat.db", help="where the threads are kept")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds the scripted model takes to answer")
    args = parser.parse_args(argv)
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise MissingExtra("uvicorn", "examples") from error
    model, notice = chosen_model(lambda: scripted_model(args.delay))
    print(notice, flush=True)
    app = create_app(chat_workflow(model, checkpointer=args.checkpointer))
    uvicorn.run(cast(Any, app), host=args.host, port=args.port, log_level="warning")
    return 0


if __name__ == "__main__":
    sys.exit(main())

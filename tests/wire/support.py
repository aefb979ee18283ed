"""A chat completions server with scripted answers, and what requests on the wire must keep.

`ReplayServer` sends what llmock cannot: odd bodies, byte for byte. The rest reads recorded requests.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import uvicorn
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from plait import RunError, RunResult, Workflow
from plait.nodes.history import history_faults

Body = dict[str, Any]
WIRE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


# ---- answers


@dataclass(frozen=True)
class Raw:
    """An answer sent as it is; several pieces are sent one by one."""

    pieces: Sequence[bytes]
    content_type: str = "application/json"
    status: int = 200

    def response(self, _: Body) -> Response:
        if len(self.pieces) == 1:
            return Response(self.pieces[0], self.status, media_type=self.content_type)
        return StreamingResponse(_each(self.pieces), self.status, media_type=self.content_type)


@dataclass(frozen=True)
class Reply:
    """A model's reply, whole or streamed in small pieces, as the request asks."""

    content: str | None = None
    calls: Sequence[Body] = ()
    finish: str | None = None
    usage: Any = "left out"
    size: int = 5

    def response(self, request: Body) -> Response:
        return (self._streamed() if request.get("stream") else self._whole()).response(request)

    @property
    def _finish(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")

    def _whole(self) -> Raw:
        message: Body = {"role": "assistant", "content": self.content}
        if self.calls:
            message["tool_calls"] = list(self.calls)
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        body: Body = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return Raw([_json(body if self.usage == "left out" else body | {"usage": self.usage})])

    def _streamed(self) -> Raw:
        deltas: list[Body] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": piece} for piece in _cut(self.content or "", self.size)]
        for index, call in enumerate(self.calls):
            deltas += [{"tool_calls": [piece]} for piece in _call_pieces(call, index, self.size)]
        return sse(*deltas, finish=self._finish, usage=self.usage)


Answer = Raw | Reply | Callable[[Body], Raw | Reply]


def call(name: str, arguments: Any = None, call_id: str | None = "c1", **named: Any) -> Body:
    """A tool call on the wire; `arguments` is sent as it is, `named` as JSON text."""
    given = json.dumps(named) if arguments is None else arguments
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}


def calls(*made: Body, **options: Any) -> Reply:
    return Reply(calls=made, **options)


def resolve(call_id: str = "r1", **values: Any) -> Reply:
    return calls(call("resolve", call_id=call_id, **values))


def plain(value: Any, status: int = 200) -> Raw:
    return Raw([_json(value)], status=status)


def sse(*deltas: Body, finish: str | None = "stop", usage: Any = "left out") -> Raw:
    """A stream of these deltas, with its finish reason and end."""
    chunks = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    if finish is not None:
        chunks.append(_chunk([{"index": 0, "delta": {}, "finish_reason": finish}]))
    if usage != "left out":
        chunks.append(_chunk([]) | {"usage": usage})
    return events(*chunks)


def events(*chunks: Any) -> Raw:
    """Server-sent events of any JSON."""
    lines = [b"data: " + _json(chunk) + b"\n\n" for chunk in chunks]
    return Raw([*lines, b"data: [DONE]\n\n"], "text/event-stream")


def _chunk(choices: list[Body]) -> Body:
    return {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


def _call_pieces(given: Body, index: int, size: int) -> Iterator[Body]:
    arguments = given["function"]["arguments"]
    pieces = _cut(arguments, size) if isinstance(arguments, str) else [arguments]
    yield {**given, "index": index, "function": {"name": given["function"]["name"], "arguments": ""}}
    yield from ({"index": index, "function": {"arguments": piece}} for piece in pieces)


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


async def _each(pieces: Sequence[bytes]) -> Any:
    for piece in pieces:
        yield piece


# ---- the server


class ReplayServer:
    """Sends its scripted answers in order, on a free port of the loopback, and keeps every request.

    `refuses` may turn a request away with a 400 and the text it returns.
    """

    def __init__(self) -> None:
        app = Starlette(routes=[Route("/v1/chat/completions", self._answered, methods=["POST"])])
        self._socket = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})
        self.reset()

    def reset(self) -> None:
        self.bodies: list[Body] = []
        self.left: list[Answer] = []
        self.surplus = 0
        self.refuses: Callable[[Body], str | None] = _takes_all

    def script(self, *answers: Answer) -> None:
        self.left += answers

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __enter__(self) -> ReplayServer:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(5)
        self._socket.close()

    async def _answered(self, request: Request) -> Response:
        body = await request.json()
        self.bodies.append(body)
        if refusal := self.refuses(body):
            return plain({"error": {"message": refusal, "type": "invalid_request_error"}}, 400).response(body)
        if not self.left:
            self.surplus += 1
            return plain({"error": {"message": "the script has no more answers"}}, 400).response(body)
        answer = self.left.pop(0)
        return (answer(body) if callable(answer) else answer).response(body)


def _takes_all(_: Body) -> None:
    return None


# ---- running


async def ran(workflow: Workflow, task: str = "go", *, streamed: bool = False, **options: Any) -> RunResult:
    """The result of one turn, also of a failed one; `streamed` runs it as a watched run."""
    if streamed:
        result: Any = [event async for event in workflow.stream(task, **options)][-1].result
    else:
        try:
            result = await workflow.run(task, **options)
        except RunError as error:
            result = error.result
    assert isinstance(result, RunResult)
    return result


# ---- what was sent


def wire_history_faults(bodies: Sequence[Body]) -> list[str]:
    """What breaks the History rule or the Prefix rule in recorded requests; empty when both hold.

    Requests with one system prompt are taken for those of one unit.
    """
    faults = []
    for number, body in enumerate(bodies):
        found = [*history_faults([as_message(m) for m in body["messages"]]), *_name_faults(body)]
        faults += [f"request {number}: {fault}" for fault in found]
    return faults + _prefix_faults(bodies)


def as_message(sent: Body) -> BaseMessage:
    """A message on the wire as LangChain's; arguments that are no JSON object make an invalid call."""
    content = sent.get("content") or ""
    if sent["role"] in ("system", "developer"):
        return SystemMessage(content)
    if sent["role"] == "tool":
        return ToolMessage(content, tool_call_id=sent["tool_call_id"])
    if sent["role"] == "user":
        return HumanMessage(content)
    good, bad = [], []
    for made in sent.get("tool_calls") or ():
        named = {"id": made["id"], "name": made["function"]["name"]}
        args = _object(made["function"]["arguments"])
        if args is None:
            bad.append({**named, "args": repr(made["function"]["arguments"]), "error": None})
        else:
            good.append({**named, "args": args, "type": "tool_call"})
    return AIMessage(content, tool_calls=good, invalid_tool_calls=bad)


def tool_texts(body: Body) -> list[str]:
    """The tool messages of a request, in order."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def offered(body: Body) -> dict[str, Body]:
    """The functions that a request offers, by name."""
    return {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}


def _object(text: Any) -> Body | None:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _name_faults(body: Body) -> Iterator[str]:
    made = [call["function"]["name"] for m in body["messages"] for call in m.get("tool_calls") or ()]
    for name in [*offered(body), *made]:
        if not WIRE_NAME.fullmatch(name):
            yield f"the function name {name!r} is refused by providers"


def _prefix_faults(bodies: Sequence[Body]) -> list[str]:
    units: dict[str, list[Body]] = defaultdict(list)
    for body in bodies:
        units[str(body["messages"][0])].append(body)
    faults = []
    for requests in units.values():
        for earlier, later in pairwise(requests):
            if later["messages"][: len(earlier["messages"])] != earlier["messages"]:
                faults.append(f"the messages before {later['messages'][-1]} changed")
            if later.get("tools") != earlier.get("tools"):
                faults.append(f"the tools offered with {later['messages'][-1]} changed")
    return faults

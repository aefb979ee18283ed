"""HTTP tools of a file: one request for each call, against a real server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from typing import Any

import pytest
import uvicorn
from langchain_core.messages import ToolMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from plait import Workflow, WorkflowUnit
from plait.adapters.http_request import HttpRequest
from plait.adapters.http_tool import MOST_BYTES, http_tool
from plait.nodes.declared import effect_of
from plait.nodes.toolforms import ToolFailed
from plait.testing import ScriptedModel, call
from plait.workflow_file import check_text, workflow_from_text, workflow_to_yaml
from plait.workflow_http import checked

TEXT = {"type": "string"}


async def echo(request: Request) -> Response:
    body = await request.body()
    headers = {key: request.headers.get(key) for key in ("authorization", "x-kind")}
    told = {"method": request.method, "path": request.scope["raw_path"].decode(), "body": body.decode()}
    return JSONResponse({**told, "query": request.query_params.multi_items(), "headers": headers})


async def refused(request: Request) -> Response:
    return PlainTextResponse("no such item", status_code=404)


async def large(request: Request) -> Response:
    async def pieces():
        for _ in range(100):
            yield b"x" * 10_000

    return StreamingResponse(pieces(), media_type="text/plain")


async def slow(request: Request) -> Response:
    await asyncio.sleep(3)
    return Response()


async def near(request: Request) -> Response:
    return RedirectResponse("/echo/near")


async def far(request: Request) -> Response:
    return RedirectResponse("http://example.invalid/")


async def round_and_round(request: Request) -> Response:
    return RedirectResponse("/round")


async def binary(request: Request) -> Response:
    return Response(b"\0\1\2", media_type="image/png")


async def wide(request: Request) -> Response:
    return Response('{"a": "é"}'.encode("utf-16"), media_type="application/json")


async def nothing(request: Request) -> Response:
    return Response(status_code=204)


APP = Starlette(
    routes=[
        Route("/echo{rest:path}", echo, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        Route("/refused", refused),
        Route("/large", large),
        Route("/slow", slow),
        Route("/near", near, methods=["GET", "POST"]),
        Route("/far", far),
        Route("/round", round_and_round),
        Route("/binary", binary),
        Route("/nothing", nothing),
        Route("/wide", wide),
    ]
)


@pytest.fixture
async def url():
    with contextlib.closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(APP, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        )
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:  # noqa: ASYNC110  (uvicorn has no event for it)
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = server.force_exit = True
        await asyncio.wait_for(serving, 20)


def parameters(*needed: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(needed)}


async def told(url: str, arguments: dict[str, Any], **options: Any) -> Any:
    request = HttpRequest("ask", url, **options)
    return json.loads(await http_tool(request, checked).ainvoke(arguments))


async def test_parameters_fill_the_path_and_the_query(url):
    seen = await told(
        f"{url}/echo/items/{{item}}",
        {"item": "a b", "limit": 3, "tags": ["x", "y"], "all": True},
        parameters=parameters(
            "item",
            item=TEXT,
            limit={"type": "integer"},
            tags={"type": "array", "items": TEXT},
            all={"type": "boolean"},
            other=TEXT,
            page={"type": "integer", "default": 1},
        ),
    )

    assert (seen["method"], seen["path"]) == ("GET", "/echo/items/a%20b")
    assert sorted(map(tuple, seen["query"])) == [
        ("all", "true"),
        ("limit", "3"),
        ("page", "1"),
        ("tags", "x"),
        ("tags", "y"),
    ]


async def test_a_body_is_what_its_template_says(url):
    seen = await told(
        f"{url}/echo",
        {"name": "tea", "amount": "3.20"},
        method="POST",
        query={"v": 2, "who": "{who}"},
        body={
            "entry": {"title": "{name}!", "amount": "{amount}"},
            "note": "{note}",
            "rows": ["{name}", "{note}"],
        },
        parameters=parameters(
            "name", name=TEXT, amount={"type": "string", "format": "decimal"}, note=TEXT, who=TEXT
        ),
    )

    assert seen["body"] == '{"entry":{"title":"tea!","amount":"3.20"},"rows":["tea"]}'
    assert seen["query"] == [["v", "2"]]


async def test_without_templates_a_post_sends_the_parameters_as_its_body(url):
    seen = await told(
        f"{url}/echo/{{id}}",
        {"id": 7, "x": 1.5},
        method="PUT",
        parameters=parameters("id", id={"type": "integer"}, x={"type": "number"}),
    )

    assert (seen["path"], seen["body"], seen["query"]) == ("/echo/7", '{"x":1.5}', [])


async def test_headers_may_come_from_the_environment(url, monkeypatch):
    options = {"headers": {"Authorization": "env:TOKEN", "X-Kind": "test"}}
    monkeypatch.delenv("TOKEN", raising=False)
    with pytest.raises(ToolFailed, match="TOKEN is not set"):
        await told(f"{url}/echo", {}, **options)

    monkeypatch.setenv("TOKEN", "Bearer secret")

    assert (await told(f"{url}/echo", {}, **options))["headers"] == {
        "authorization": "Bearer secret",
        "x-kind": "test",
    }


async def test_a_variable_may_stand_in_a_header_and_never_shows(url, monkeypatch):
    options = {"headers": {"Authorization": "Bearer env:TOKEN"}}
    monkeypatch.setenv("TOKEN", "secret\n")
    assert (await told(f"{url}/echo", {}, **options))["headers"]["authorization"] == "Bearer secret"

    for odd in ("sécret", "se\ncret"):
        monkeypatch.setenv("TOKEN", odd)
        with pytest.raises(ToolFailed, match="TOKEN holds characters") as refused:
            await told(f"{url}/echo", {}, **options)
        assert "cret" not in str(refused.value)


async def test_the_query_of_the_url_is_kept(url):
    options: dict[str, Any] = {"parameters": parameters(q=TEXT, self=TEXT)}
    seen = await told(f"{url}/echo?v=2&v=3&w=", {"q": "x", "self": "y"}, **options)
    assert sorted(map(tuple, seen["query"])) == [("q", "x"), ("self", "y"), ("v", "2"), ("v", "3"), ("w", "")]
    with pytest.raises(ValueError, match="stands in its query already"):
        HttpRequest("ask", f"{url}/echo?q=1", **options)


async def test_a_query_takes_json_and_leaves_out_null(url):
    given = parameters(b={"type": "object"}, l={"type": "array"}, n={"type": ["string", "null"]})
    seen = await told(
        f"{url}/echo", {"b": {"x": None}, "l": [1, None, {"y": 2}], "n": None}, parameters=given
    )
    assert sorted(map(tuple, seen["query"])) == [("b", '{"x": null}'), ("l", "1"), ("l", '{"y": 2}')]


ESCAPES = ["../x", "..", "a/../../x", ".", "..\\x", "", "a\nb", "/.."]


@pytest.mark.parametrize("value", ESCAPES)
async def test_a_parameter_cannot_leave_its_place_in_the_path(url, value):
    with pytest.raises(ToolFailed, match="path"):
        await told(f"{url}/echo/{{x}}/end", {"x": value}, parameters=parameters("x", x=TEXT))


@pytest.mark.parametrize(
    "value", ["//example.invalid/x", "?a=b", "#x", "@example.invalid", "%2e%2e", "a/b", "午"]
)
async def test_a_parameter_is_escaped(url, value):
    seen = await told(f"{url}/echo/{{x}}/end", {"x": value}, parameters=parameters("x", x=TEXT))

    assert seen["path"].startswith("/echo/")
    assert seen["path"].count("/") == 3
    assert seen["query"] == []


async def test_two_parameters_cannot_make_a_way_up_together(url):
    with pytest.raises(ToolFailed, match="path"):
        await told(
            f"{url}/echo/{{x}}{{y}}/end",
            {"x": ".", "y": "."},
            parameters=parameters("x", "y", x=TEXT, y=TEXT),
        )


FAILING = [
    ("/refused", "HTTP 404 Not Found: no such item"),
    ("/far", "redirects to http://example.invalid/, which is not followed"),
    ("/round", "redirects again and again"),
    ("/none", "HTTP 404"),
    ("/slow", "within 0.3 s"),
]


@pytest.mark.parametrize(("path", "why"), FAILING)
async def test_what_fails_is_told(url, path, why):
    with pytest.raises(ToolFailed, match=why):
        await told(url + path, {}, timeout_s=0.3 if path == "/slow" else 30)


async def test_a_server_that_is_not_there_is_told():
    with contextlib.closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(ToolFailed, match=f"127.0.0.1:{port} cannot be reached"):
        await told(f"http://127.0.0.1:{port}/", {})


async def test_a_redirect_on_the_same_host_is_followed_for_reading_alone(url):
    assert (await told(f"{url}/near", {}))["path"] == "/echo/near"
    with pytest.raises(ToolFailed, match="not followed"):
        await told(f"{url}/near", {}, method="POST")


async def test_answers_are_bounded_and_always_text(url):
    answers = [
        await http_tool(HttpRequest("ask", url + path), checked).ainvoke({})
        for path in ("/large", "/binary", "/nothing", "/wide")
    ]

    assert answers[0].endswith(f"[cut after {MOST_BYTES} bytes]")
    assert len(answers[0]) < MOST_BYTES + 100
    assert answers[1] == "(3 bytes of image/png, which is no text)"
    assert answers[2] == "HTTP 204, without content"
    assert answers[3] == '{"a": "é"}'


EFFECTS = [
    ("GET", "read"),
    ("HEAD", "read"),
    ("PUT", "idempotent"),
    ("DELETE", "idempotent"),
    ("POST", "unsafe"),
    ("PATCH", "unsafe"),
]


@pytest.mark.parametrize(("method", "effect"), EFFECTS)
def test_the_method_says_the_effect_unless_it_is_declared(method, effect):
    made = HttpRequest("ask", "https://example.com/", method=method)

    assert effect_of(http_tool(made, checked)) == effect
    declared = HttpRequest("ask", "https://example.com/", method=method, effect="idempotent")
    assert effect_of(http_tool(declared, checked)) == "idempotent"


FILE = """
apiVersion: plait/v1
kind: Workflow
spec:
  units:
    - id: shop
      tools:
        - http:
            name: stock
            description: How many of an item are there.
            url: "URL/echo/{item}"
            headers: {X-Kind: "${KIND:-shop}", Authorization: "env:TOKEN"}
            parameters:
              type: object
              properties: {item: {type: string}, amount: {type: integer, minimum: 1}}
              required: [item]
        - http: {name: order, method: POST, url: URL/refused, approval: true}
  flow: shop
"""


async def test_a_model_mends_what_the_tool_refuses(url, monkeypatch):
    monkeypatch.setenv("TOKEN", "t")
    replies = [
        call("stock", item="tea", amount=0),
        call("stock", item="../x"),
        call("stock", item="tea", amount=2),
        call("resolve", value="enough"),
    ]
    model = ScriptedModel({"shop": replies})

    result = await workflow_from_text(FILE.replace("URL", url), model=model).run("tea?")
    results = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]

    assert result.output == "enough"
    assert [message.status for message in results] == ["error", "error", "success"]
    assert "amount" in str(results[0].content)
    assert '"path":"/echo/tea"' in str(results[2].content)


async def test_an_approval_is_asked_for(url):
    workflow = workflow_from_text(FILE.replace("URL", url), model=ScriptedModel({"shop": [call("order")]}))

    result = await workflow.run("order")

    assert (result.outcome, result.interrupts[0].kind) == ("paused", "approval")


def test_a_file_with_http_tools_comes_back_equal_and_holds_no_secret(monkeypatch):
    monkeypatch.setenv("TOKEN", "secret")
    text = FILE.replace("URL", "https://shop.example.com")
    workflow = workflow_from_text(text, model=ScriptedModel({}))
    written = workflow_to_yaml(workflow)
    again = workflow_from_text(written, model=ScriptedModel({}))

    assert again.bound.flow == workflow.bound.flow
    assert workflow_to_yaml(again) == written
    assert "secret" not in written


WRONG = [
    ("url: URL/refused", "url: ftp://example.com/", "definition", "url"),
    ("url: URL/refused", "url: 'https://{host}/x'", "definition", "url"),
    ("url: URL/refused", "url: 'https://a.com/{id}'", "definition", "url"),
    ("url: URL/refused", "url: 'https://user:pw@a.com/'", "definition", "url"),
    ("method: POST", "method: FETCH", "bad-value", "FETCH"),
    ("approval: true", "body: {x: '{y}'}", "definition", "y"),
    ("approval: true", "bdy: {}", "unknown-key", "bdy"),
    ("approval: true", "timeout_s: 10000", "definition", "timeout_s"),
    ("approval: true", "headers: {'a b': c}", "definition", "headers"),
    ("minimum: 1", "minimun: 1", "bad-value", "minimun"),
    ("name: order", "name: 'or der'", "definition", "name"),
]


@pytest.mark.parametrize(("old", "new", "code", "word"), WRONG)
def test_a_fault_of_a_file_is_told_where_it_is(old, new, code, word):
    text = FILE.replace(old, new).replace("URL", "https://a.com")
    line = next(
        number for number, line in enumerate(text.splitlines(), start=1) if new.split("\n")[0] in line
    )

    (fault,) = check_text(text)

    assert (fault.code, fault.line) == (code, line)
    assert word in fault.message


def test_a_request_is_a_value():
    request = HttpRequest("ask", "https://example.com/")
    assert http_tool(request, checked) == http_tool(request, checked)
    unit = WorkflowUnit("a", tools=[http_tool(request, checked)])
    assert Workflow(unit, model=ScriptedModel({})).bound.flow == unit

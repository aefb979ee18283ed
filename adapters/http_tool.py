"""A declared HTTP request as a tool: sent, its answer bounded, its errors told to the model."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from langchain_core.tools import BaseTool

from ..nodes.declared import tool as declare
from ..nodes.toolforms import ToolFailed
from .http_request import Filled, HttpRequest, filled

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 200_000
"""Bytes of an answer that are read."""
MOST_REDIRECTS = 5

Check = Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]
"""Arguments read by a JSON Schema, `check(schema, arguments)`. Raises ToolFailed for misfits."""


class HttpTool(BaseTool):
    """A tool that sends one request for each call. Made by `http_tool`."""

    request: HttpRequest
    check: Check

    def _run(self, /, **arguments: Any) -> str:
        return asyncio.run(self._arun(**arguments))

    async def _arun(self, /, **arguments: Any) -> str:
        return await sent(self.request, filled(self.request, self.check(self.request.schema, arguments)))


def http_tool(request: HttpRequest, check: Check) -> BaseTool:
    """The tool of a request, with the effect that it declares or that its method has."""
    made = HttpTool(
        name=request.name,
        description=request.description or f"{request.method} {request.url}",
        args_schema=request.schema,
        request=request,
        check=check,
    )
    return declare(made, effect=request.declared_effect, approval=request.approval)


async def sent(request: HttpRequest, given: Filled) -> str:
    """Send a request; the text of its answer. Raises ToolFailed for an error, in a way or in the answer."""
    import httpx

    try:
        async with httpx.AsyncClient(timeout=request.timeout_s) as client, asyncio.timeout(request.timeout_s):
            return await _answered(client, request, given)
    except (TimeoutError, httpx.TimeoutException) as error:
        raise ToolFailed(f"no answer from {_host(given.url)} within {request.timeout_s:g} s") from error
    except httpx.HTTPError as error:
        why = str(error) or type(error).__name__
        raise ToolFailed(f"{_host(given.url)} cannot be reached: {why:.300}") from error


async def _answered(client: httpx.AsyncClient, request: HttpRequest, given: Filled) -> str:
    import httpx

    url = httpx.URL(given.url)
    if given.query:
        url = url.copy_with(params={**given.query, **_by_name(url)})
    for _ in range(MOST_REDIRECTS + 1):
        what: dict[str, Any] = {} if given.body is None else {"json": given.body}
        asked = client.build_request(request.method, url, headers=given.headers, **what)
        answer = await client.send(asked, stream=True)
        try:
            if not answer.has_redirect_location:
                return await _told(answer)
        finally:
            await answer.aclose()
        url = httpx.URL(_followed(request, answer))
    raise ToolFailed(f"{_host(given.url)} redirects again and again")


def _by_name(url: httpx.URL) -> dict[str, list[str]]:
    """The query that stands in a URL itself."""
    return {name: url.params.get_list(name) for name in url.params}


def _followed(request: HttpRequest, answer: httpx.Response) -> str:
    """Where a redirect leads. Raises ToolFailed unless that is the same host, asked for by reading."""
    here = str(answer.url)
    there = urljoin(here, answer.headers["location"])
    if request.method not in ("GET", "HEAD") or urlsplit(here)[:2] != urlsplit(there)[:2]:
        raise ToolFailed(f"HTTP {answer.status_code}: it redirects to {there:.200}, which is not followed")
    return there


async def _told(answer: httpx.Response) -> str:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip()
    content, is_cut = await _read(answer.aiter_bytes())
    text = _text(content, kind, answer.charset_encoding or "utf-8")
    if answer.is_error:
        status = f"HTTP {answer.status_code} {answer.reason_phrase}".strip()
        raise ToolFailed(f"{status}: {text[:2000]}" if text else status)
    told = text or f"HTTP {answer.status_code}, without content"
    return f"{told}\n[cut after {MOST_BYTES} bytes]" if is_cut else told


async def _read(pieces: AsyncIterator[bytes]) -> tuple[bytes, bool]:
    held = bytearray()
    async for piece in pieces:
        held += piece
        if len(held) > MOST_BYTES:
            return bytes(held[:MOST_BYTES]), True
    return bytes(held), False


def _text(content: bytes, kind: str, encoding: str) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    if b"\0" in content[:1000] and not encoding.lower().startswith(("utf-16", "utf-32")):
        return f"({len(content)} bytes of {kind or 'unknown content'}, which is no text)"
    try:
        return content.decode(encoding, "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


def _host(url: str) -> str:
    return urlsplit(url).netloc

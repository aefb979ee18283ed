"""An HTTP request declared as data, and what one call makes of it.

What a model sends fills the path, the query or the body, never the host and no header. A value stands where
`{name}` does: alone, as it is; within a text, as text. What a call leaves out is left out of the request.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, quote, urlsplit

from ..nodes.declared import Effect
from ..nodes.toolforms import ToolFailed

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
EFFECTS: Mapping[str, Effect] = {"GET": "read", "HEAD": "read", "PUT": "idempotent", "DELETE": "idempotent"}
SENDS_BODY = ("POST", "PUT", "PATCH")
_ENVIRONMENT = re.compile(r"(?:^|(?<=\s))env:([A-Za-z_]\w*)")
LONGEST_S = 600
_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
_LEFT_OUT: Any = object()


@dataclass(frozen=True)
class HttpRequest:
    """A tool that is one request. `url` is `https://host/{path_parameter}`.

    Without `query` and `body`, parameters that are not in the path are the query, or the JSON body of a
    method that has one. `env:NAME` in a header is read from the environment at each call and stands in no
    file. `effect` is the method's unless declared: POST and PATCH are unsafe. Raises ValueError.
    """

    name: str
    url: str
    description: str = ""
    method: Method = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] | None = None
    body: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = 30
    effect: Effect | None = None
    approval: bool | str = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_][\w-]{0,63}", self.name):
            raise ValueError(f"name {self.name!r:.70} is no name of a tool")
        if self.method not in get_args(Method):
            raise ValueError(f"method {self.method!r:.20} is none of: {', '.join(get_args(Method))}")
        if self.effect not in (None, "read", "idempotent", "unsafe"):
            raise ValueError(f"effect {self.effect!r} is none of: read, idempotent, unsafe")
        if not 0 < self.timeout_s <= LONGEST_S:
            raise ValueError(f"timeout_s is above 0 and at most {LONGEST_S}, not {self.timeout_s}")
        if self.body is not None and self.method not in SENDS_BODY:
            raise ValueError(f"body does not go with {self.method}")
        _check_url(self.url)
        self._check_names()
        for name, value in self.headers.items():
            if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or re.search(r"[^\x20-\x7e]", value):
                raise ValueError(f"headers: {name!r:.60} is no header, or its value is no plain text")

    def _check_names(self) -> None:
        known, needed = self.schema["properties"], self.schema.get("required", [])
        for name in _names_in(self.url):
            if name not in needed:
                raise ValueError(f"url: {{{name}}} must be among the required parameters")
        for where, given in (("query", self.query), ("body", self.body)):
            if unknown := [name for name in _names_in(given) if name not in known]:
                raise ValueError(f"{where}: there is no parameter {unknown[0]!r}")
        sends_bare = self.query is None and self.body is None and self.method not in SENDS_BODY
        sent = known if sends_bare else self.query or {}
        for name, _ in parse_qsl(urlsplit(self.url).query, keep_blank_values=True):
            if name in sent:
                raise ValueError(f"url: {name!r:.60} stands in its query already; keep one of the two")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments of a call."""
        return {"type": "object", "properties": {}, **self.parameters}

    @property
    def declared_effect(self) -> Effect:
        return self.effect or EFFECTS.get(self.method, "unsafe")


@dataclass(frozen=True)
class Filled:
    """One request as it is sent."""

    url: str
    query: Mapping[str, Any]
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


def filled(request: HttpRequest, arguments: Mapping[str, Any]) -> Filled:
    """What a call sends. Raises ToolFailed for a path that would leave its place, or a header not set."""
    rest = {name: value for name, value in arguments.items() if name not in _names_in(request.url)}
    is_bare = request.query is None and request.body is None
    has_body = request.method in SENDS_BODY
    if is_bare:
        query, body = ({}, rest) if has_body else (rest, None)
    else:
        query, body = _put(request.query or {}, arguments), _put(request.body, arguments)
    flat = {name: _as_query(value) for name, value in query.items() if value is not None}
    return Filled(_url(request.url, arguments), flat, body, _headers(request.headers))


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"url {url!r:.80} is none: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url {url!r:.80} does not begin with https://host or http://host")
    if _NAME.search(parts.netloc) or parts.username or port == 0:
        raise ValueError(f"url {url!r:.80} names its host as it is, without parameters or a user")
    if _NAME.search(parts.query) or parts.fragment:
        raise ValueError(f"url {url!r:.80} has parameters in its path alone; give the others as query")


def _names_in(template: Any) -> list[str]:
    if isinstance(template, str):
        return _NAME.findall(template)
    if isinstance(template, Mapping):
        return [name for item in template.values() for name in _names_in(item)]
    return [name for item in template for name in _names_in(item)] if isinstance(template, list) else []


def _url(url: str, arguments: Mapping[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        given = arguments[match[1]]
        text = _text(given)
        if not text or re.search(r"[\x00-\x1f\x7f]", text):
            raise ToolFailed(f"{match[1]!r} cannot be part of a path: {text!r:.80}")
        if any(piece in (".", "..") for piece in re.split(r"[/\\]", text)):
            raise ToolFailed(f"{match[1]!r} would leave its place in the path: {text!r:.80}")
        return quote(text, safe="")

    made = _NAME.sub(value, url)
    if any(piece in (".", "..") for piece in urlsplit(made).path.split("/")):
        raise ToolFailed("the arguments would leave their place in the path")
    return made


def _put(template: Any, arguments: Mapping[str, Any]) -> Any:
    """The template with the arguments in it; what hangs on one that is not there is left out."""
    made = _placed(template, arguments)
    return None if made is _LEFT_OUT else made


def _placed(template: Any, arguments: Mapping[str, Any]) -> Any:
    if isinstance(template, Mapping):
        made = {key: _placed(item, arguments) for key, item in template.items()}
        return {key: item for key, item in made.items() if item is not _LEFT_OUT}
    if isinstance(template, list):
        return [one for item in template if (one := _placed(item, arguments)) is not _LEFT_OUT]
    if not isinstance(template, str):
        return template
    if any(name not in arguments for name in _names_in(template)):
        return _LEFT_OUT
    whole = _NAME.fullmatch(template)
    return arguments[whole[1]] if whole else _NAME.sub(lambda name: _text(arguments[name[1]]), template)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_query(value: Any) -> Any:
    if isinstance(value, list):
        return [_one(item) for item in value if item is not None]
    return _one(value)


def _one(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else _text(value)


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: _header(name, value) for name, value in headers.items()}


def _header(name: str, value: str) -> str:
    def found(match: re.Match[str]) -> str:
        held = os.environ.get(match[1], "").strip()
        if not held:
            told = f"the environment variable {match[1]} is not set"
        elif re.search(r"[^\x20-\x7e]", held):
            told = f"the environment variable {match[1]} holds characters that no header may have"
        else:
            return held
        raise ToolFailed(f"the header {name} cannot be sent: {told}")

    return _ENVIRONMENT.sub(found, value)

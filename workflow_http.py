"""The form `http` of a tool in a file: one request, its parameters a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from .adapters.http_request import HttpRequest, Method
from .adapters.http_tool import HttpTool, http_tool
from .nodes.schema import InvalidOutput, output_schema
from .nodes.toolforms import ToolFailed
from .spec.compound import Either, MapOf
from .spec.jsontypes import SchemaFault, type_of
from .spec.kinds import BAD, Reading, Schema, Schemas, Writing, wrong
from .spec.record import Record, rows_of
from .spec.simple import Choice, Data, Flag, Maybe, Number, Text
from .spec.tree import Node, Table, found

REQUEST = Record(
    "an http tool",
    rows_of(
        HttpRequest,
        ("name", Text("a name"), "its name, as the model calls it"),
        ("description", Text(), "what it is for, as the model is told"),
        ("method", Choice(get_args(Method)), "the method of the request"),
        ("url", Text("a URL"), "https://host/path, in which {name} stands for a parameter"),
        ("headers", MapOf(Text()), "its headers; env:NAME is read from the environment at each call"),
        ("query", Maybe(MapOf(Data())), "its query; {name} stands for a parameter"),
        ("body", Data(), "its JSON body; {name} stands for a parameter"),
        ("parameters", Data(dict, "a JSON Schema"), "the JSON Schema of what the model gives"),
        ("timeout_s", Number(0), "seconds for the whole request"),
        ("effect", Maybe(Choice(("read", "idempotent", "unsafe"))), "what running it twice does"),
        ("approval", Either((Flag(), Text()), "true, or why to ask"), "whether a person approves each call"),
    ),
    HttpRequest,
    HttpRequest,
    doc="A tool that is one HTTP request.",
)


class Http:
    """An HTTP tool, read as its request."""

    what = "an http tool"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table)

    def holds(self, value: Any) -> bool:
        return isinstance(value, HttpTool)

    def read(self, node: Node, at: Reading) -> Any:
        if not isinstance(node, Table):
            return wrong(REQUEST, node, at)
        request = REQUEST.read(node, at)
        if request is BAD:
            return BAD
        try:
            type_of(request.schema, at.book.importer)
        except SchemaFault as error:
            where = found(node, ("parameters", *error.path))
            return at.key("parameters").fault("bad-value", str(error), where, error.nearest)
        return http_tool(request, checked)

    def write(self, value: Any, at: Writing) -> Any:
        return REQUEST.write(value.request, at)

    def schema(self, to: Schemas) -> Schema:
        return REQUEST.schema(to)


def checked(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments as the schema reads them, its defaults added. Raises ToolFailed for those that do not fit."""
    read = output_schema(type_of(schema))
    try:
        made: Mapping[str, Any] = read.dump(read.validate(arguments))
    except InvalidOutput as error:
        raise ToolFailed(str(error)) from error
    return made

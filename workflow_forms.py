"""What the YAML form finds by name: adapters, forms of tools, model providers, types and scripted replies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

from .adapters.agent import AgentAdapter
from .adapters.langchain import LangChainAdapter
from .adapters.langgraph import LangGraphAdapter
from .adapters.llm import LlmAdapter, Method
from .adapters.models import CLASSES
from .adapters.react import ReactAdapter
from .adapters.stores import check_url
from .adapters.text_react import TextReactAdapter
from .core.errors import DefinitionError
from .spec.compound import Wrapped
from .spec.flows import FLOWS
from .spec.kinds import BAD, Kind, Reading, Registry, Writing, wrong
from .spec.mock import Mock
from .spec.mockkind import ScriptedReplies
from .spec.models import MODEL
from .spec.record import REQUIRED, Record, Row
from .spec.references import Import
from .spec.simple import Choice, Maybe, Number
from .spec.tree import Node, Table
from .testing.mock import script_of
from .workflow_http import Http

_MODEL = Row("model", Maybe(MODEL), None, "its own model, instead of the workflow's")
_FUNCTION = Maybe(Import("a function"))
_METHOD = Row("method", Choice(get_args(Method)), "auto", "how a typed output is asked for")


class OnModel(Wrapped):
    """An adapter that runs on a model: its own, else the workflow's."""

    def read(self, node: Node, at: Reading) -> Any:
        record: Any = self.kind
        if not isinstance(node, Table):
            return wrong(self, node, at)
        given, is_whole = record.read_rows(node, at)
        return record.built({"model": at.book.model, **given}, node, at) if is_whole else BAD

    def write(self, value: Any, at: Writing) -> Any:
        model = value.model
        is_shared = model is at.model or (isinstance(model, str) and model == at.model)
        return super().write(replace(value, model=None) if is_shared else value, at)


@dataclass(frozen=True)
class _ExtractRow(Row):
    """A row of an agent adapter that belongs to the call which extracts its output."""

    def of(self, value: Any) -> Any:
        return self.default if value.extract is None else getattr(value.extract, self.key)


def _agent(agent: Any, model: Any = None, method: Method = "auto", attempts: int = 2) -> AgentAdapter:
    return AgentAdapter(agent, None if model is None else LlmAdapter(model, method, attempts))


ADAPTERS: dict[str, Kind] = {
    "react": OnModel(Record("a react adapter", (_MODEL,), ReactAdapter, ReactAdapter)),
    "text_react": OnModel(Record("a text_react adapter", (_MODEL,), TextReactAdapter, TextReactAdapter)),
    "llm": OnModel(
        Record(
            "an llm adapter",
            (_MODEL, _METHOD, Row("attempts", Number(1, whole=True), 1, "replies that may be asked for")),
            LlmAdapter,
            LlmAdapter,
        )
    ),
    "langchain": Record(
        "a langchain adapter",
        (
            Row(
                "runnable",
                Import("a runnable", lambda it: hasattr(it, "ainvoke")),
                REQUIRED,
                "what is invoked",
            ),
            Row("enter", _FUNCTION, None, "makes its input of the Snapshot"),
        ),
        lambda runnable, enter=None: LangChainAdapter(runnable, enter),
        LangChainAdapter,
    ),
    "langgraph": Record(
        "a langgraph adapter",
        (
            Row(
                "graph",
                Import("a compiled graph", lambda it: hasattr(it, "ainvoke")),
                REQUIRED,
                "what is run",
            ),
            Row("enter", _FUNCTION, None, "makes its input of the Snapshot"),
            Row("leave", _FUNCTION, None, "picks the result from its final state"),
        ),
        lambda graph, enter=None, leave=None: LangGraphAdapter(graph, enter, leave),
        LangGraphAdapter,
    ),
    "agent": Record(
        "an agent adapter",
        (
            Row("agent", Import("a function from text to text"), REQUIRED, "what is asked"),
            _ExtractRow("model", Maybe(MODEL), None, "extracts typed outputs from its text"),
            _ExtractRow("method", Choice(get_args(Method)), "auto", "how a typed output is asked for"),
            _ExtractRow("attempts", Number(1, whole=True), 2, "replies that may be asked for"),
        ),
        _agent,
        AgentAdapter,
    ),
}


def _url_fault(given: Any, what: str) -> str | None:
    try:
        check_url(given, what)
    except DefinitionError as error:
        return error.faults[0].message
    return None


REGISTRY = Registry(
    flows=FLOWS,
    adapters=ADAPTERS,
    tools={"http": Http()},
    providers=tuple(CLASSES),
    mock=ScriptedReplies(),
    url_fault=_url_fault,
)


def scripted(mock: Any) -> Any:
    """The model that plays a file's mock, or its script."""
    return script_of(mock) if isinstance(mock, Mock) else mock()

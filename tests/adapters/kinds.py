"""Every adapter on one scripted model, with the replies that make it give an output."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langgraph.graph import END, START, MessagesState, StateGraph

from plait import (
    agent_adapter,
    langchain_adapter,
    langgraph_adapter,
    llm_adapter,
    react_adapter,
    text_react_adapter,
)
from plait.core.roles import ThreadContext
from plait.core.snapshot import Snapshot
from plait.testing import ScriptedModel, call, text


@dataclass(frozen=True)
class Kind:
    """One adapter: how it is made of a model, and what the model says for an output."""

    name: str
    make: Callable[[ScriptedModel], Any]
    says: Callable[[Any, dict[str, Any]], list[Any]]
    calls: int = 1
    node: str | None = None

    def replies(self, output: Any, args: Any) -> list[Any]:
        """The script for an output type, given `resolve`'s arguments or the one plain value."""
        return self.says(output, args if isinstance(args, dict) else {"value": args})


def talking_graph(model: Any) -> Any:
    """A graph written by hand: one node that calls the model."""

    async def talk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("talk", talk)
    builder.add_edge(START, "talk")
    builder.add_edge("talk", END)
    return builder.compile(name="foreign")


def text_agent(model: Any) -> Any:
    async def agent(question: str) -> dict[str, str]:
        return {"output": (await model.ainvoke(question)).text}

    return agent


def chain(model: Any) -> Any:
    return ChatPromptTemplate([MessagesPlaceholder("messages")]) | model


def resolving(_: Any, args: dict[str, Any]) -> list[Any]:
    return [call("resolve", args)]


def as_json(_: Any, args: dict[str, Any]) -> list[Any]:
    return [text(json.dumps(args, ensure_ascii=False))]


def plainly(output: Any, args: dict[str, Any]) -> list[Any]:
    return [text(str(args["value"]))] if output is str else as_json(output, args)


def finally_(output: Any, args: dict[str, Any]) -> list[Any]:
    return [text(f"Need: nothing more.\nFinal Answer: {json.dumps(args, ensure_ascii=False)}")]


def extracted(output: Any, args: dict[str, Any]) -> list[Any]:
    said = text(str(args["value"]) if output is str else f"It comes to {args}.")
    return [said] if output is str else [said, call("resolve", args)]


KINDS = [
    Kind("react", lambda m: react_adapter(model=m), resolving, node="think"),
    Kind("llm-tool", lambda m: llm_adapter(model=m, method="tool"), resolving, node="think"),
    Kind("llm-json_schema", lambda m: llm_adapter(model=m, method="json_schema"), as_json, node="think"),
    Kind("llm-parse", lambda m: llm_adapter(model=m, method="parse"), plainly, node="think"),
    Kind("agent", lambda m: agent_adapter(text_agent(m), model=m), extracted, calls=2),
    Kind("text_react", lambda m: text_react_adapter(model=m), finally_, node="think"),
    Kind("langgraph", lambda m: langgraph_adapter(talking_graph(m)), plainly, node="talk"),
    Kind("langchain", lambda m: langchain_adapter(chain(m)), plainly),
]


def by_hand(task: str = "Go.", **fields: Any) -> ThreadContext:
    """A ThreadContext for a role that is called outside of any flow."""
    return ThreadContext("t", 0, "", task, (), Snapshot(thread_id="t", task=task, **fields))

"""What `get_graph` draws: the units, their rounds, the handlers, and the ways between them."""

from typing import Any

import pytest

from plait import LoopFlow, RouterFlow, SequentialFlow, Workflow, WorkflowUnit, step
from plait.testing import ScriptedModel

one, two, three = (WorkflowUnit(name) for name in ("one", "two", "three"))
pick = WorkflowUnit("pick")


def drawn(flow: Any, **options: Any) -> Any:
    return Workflow(flow, model=ScriptedModel([])).graph.get_graph(**options)


def edges(graph: Any) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in graph.edges}


def test_a_sequence_is_drawn_in_order() -> None:
    found = edges(drawn(one >> two))
    assert {
        ("__start__", "_enter"),
        ("_enter", "one"),
        ("one", "two"),
        ("two", "_exit"),
        ("_exit", "__end__"),
    } <= found
    assert ("_enter", "two") not in found


def test_a_router_leads_to_each_handler_and_from_there_to_the_end() -> None:
    found = edges(drawn(RouterFlow(pick, {"a": one, "b": two})))
    assert {("pick", "a"), ("pick", "b"), ("a", "_exit"), ("b", "_exit")} <= found
    assert not {("a", "b"), ("_enter", "a"), ("_enter", "b")} & found


def test_a_loop_is_drawn_as_one() -> None:
    assert {("one", "one"), ("one", "_exit")} <= edges(drawn(LoopFlow(one)))


def test_a_step_is_a_node() -> None:
    assert "check" in drawn(one >> step(lambda s: 1, id="check")).nodes


def test_xray_shows_the_rounds_of_a_unit() -> None:
    graph = drawn(one >> two, xray=True)
    assert {"one:think", "one:act", "two:think", "two:act"} <= set(graph.nodes)
    assert {("one:think", "one:act"), ("one:act", "one:think")} <= edges(graph)


def test_xray_shows_nested_flows_to_any_depth() -> None:
    flow = LoopFlow(RouterFlow(pick, {"work": SequentialFlow(one, two), "rest": three}))
    names = set(drawn(flow, xray=True).nodes)
    assert {"router:pick:think", "router:work:one:act", "router:work:two:think", "router:rest:act"} <= names


@pytest.mark.parametrize("xray", [False, True])
def test_mermaid_text_names_the_units_and_needs_no_network(xray: bool) -> None:
    mermaid = drawn(RouterFlow(pick, {"a": one, "b": two >> three}), xray=xray).draw_mermaid()
    assert "graph TD" in mermaid
    for name in ("pick", "a", "b"):
        assert name in mermaid
    assert ("think" in mermaid) is xray


def test_a_unit_in_a_foreign_graph_is_drawn_inside_it() -> None:
    from typing import TypedDict

    from langgraph.graph import START, StateGraph

    class State(TypedDict, total=False):
        text: str

    node = (one >> two).as_node(lambda s: "go", lambda v: {}, model=ScriptedModel([]))
    builder = StateGraph(State)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    names = set(builder.compile().get_graph(xray=True).nodes)
    assert {"work:one:think", "work:two:act"} <= names

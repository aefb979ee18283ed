"""Pictures of flows: what is in them, that nothing overlaps, and that any text stays text."""

import re
from itertools import combinations
from typing import Any, Literal
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait import (
    BroadcastFlow,
    CompositeFlow,
    DAGFlow,
    DefinitionError,
    DelegationFlow,
    LoopFlow,
    ParallelFlow,
    ReflexionFlow,
    RouterFlow,
    SequentialFlow,
    Snapshot,
    Workflow,
    WorkflowUnit,
    field,
    step,
)
from plait.core.paths import RESERVED
from plait.examples.review.units import code_review
from plait.graphs.roletable import Role, WorkflowDefinition, role_table
from plait.testing import ScriptedModel
from plait.view import Drawing, draw
from plait.view.captions import tool_name
from plait.view.layers import backward, crossings, neighbours, ordered, ranked
from plait.view.measure import text_width, wrapped
from plait.view.routes import planned
from plait.view.shapes import Box, Group, Line, whole

SVG = "{http://www.w3.org/2000/svg}"


def read_file(path: str) -> str:
    """Read."""
    return path


def unit(id: str, **options: Any) -> WorkflowUnit[Any]:
    return WorkflowUnit(id, **options)


one, two, three, four = (unit(name) for name in ("one", "two", "three", "four"))
reflexion = ReflexionFlow(one, two, accept=field("score") >= 8)


def group(part: Any) -> Group:
    """The shape of a flow, taken out of its picture."""
    found = whole(part).shapes[1]
    assert isinstance(found, Group)
    return found


def lines(part: Any) -> list[tuple[str, str, str, str]]:
    return [(line.source, line.target, line.label, line.style) for line in group(part).lines]


def texts(svg: str) -> list[str]:
    return ["".join(found.itertext()) for found in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def classes(svg: str) -> list[str]:
    return [found.get("class", "") for found in ElementTree.fromstring(svg).iter(f"{SVG}path")]


# What is in a picture


def test_a_router_leads_to_each_handler_by_its_label() -> None:
    flow = RouterFlow(unit("pick"), {"left": one, "right": two}, default="left")
    assert lines(flow) == [("pick", "left", "left", "flow"), ("pick", "right", "right", "flow")]
    assert (group(flow).caption, group(flow).notes) == ("router", ("default left",))


def test_a_dag_shows_its_real_dependencies() -> None:
    flow = DAGFlow(unit("plan"), [one, two], unit("report"), dependencies={"two": ["one"]})
    found = {(source, target) for source, target, _, _ in lines(flow)}
    assert found == {("plan", "one"), ("one", "two"), ("one", "report"), ("two", "report")}


def test_a_planned_dag_shows_that_the_plan_decides_and_may_be_made_again() -> None:
    flow = DAGFlow(unit("plan"), [one, two], unit("report"), replan=2)
    assert ("plan", "one", "", "planned") in lines(flow)
    assert ("report", "plan", "again", "again") in lines(flow)
    assert (group(flow).caption, group(flow).notes) == ("dag, as planned", ("replan ×2",))


def test_loops_carry_their_number_and_a_way_back() -> None:
    assert lines(LoopFlow(one, 3)) == [("one", "one", "again", "again")]
    assert group(LoopFlow(one, 3)).caption == "loop ×3"
    assert lines(reflexion) == [("one", "two", "", "flow"), ("two", "one", "again", "again")]
    assert (group(reflexion).caption, group(reflexion).notes) == ("reflexion ×3", ("accept score >= 8",))


def test_a_sequence_in_a_loop_adds_no_box() -> None:
    flow = LoopFlow(one >> two >> three, 4)
    assert [shape.key for shape in group(flow).shapes] == ["one", "two", "three"]
    assert ("three", "one", "again", "again") in lines(flow)


def test_delegation_and_broadcast_have_lines_of_their_own() -> None:
    delegation = DelegationFlow(unit("boss"), [one, two], max_depth=2)
    assert lines(delegation) == [
        ("boss", "one", "delegates", "delegates"),
        ("boss", "two", "delegates", "delegates"),
    ]
    assert group(delegation).notes == ("depth 2",)
    assert {style for *_, style in lines(BroadcastFlow(one, two, rounds=3))} == {"hears"}
    assert group(BroadcastFlow(one, two, rounds=3)).caption == "broadcast ×3"


def test_parallel_parts_meet_in_their_reducer() -> None:
    flow = ParallelFlow(one, two, three, reducer=four, quorum=2)
    assert lines(flow) == [(key, "four", "", "flow") for key in ("one", "two", "three")]
    assert group(flow).notes == ("quorum 2",)
    assert group(ParallelFlow.map(one, over=field("items"))).caption == "map over items"


def test_a_role_table_shows_where_it_begins_and_ends() -> None:
    table = WorkflowDefinition(
        "write", {"write": Role("w"), "check": Role("c")},
        {"write": [("FALLBACK", "check")], "check": [(lambda context: True, "END"), ("FALLBACK", "write")]},
    )  # fmt: skip
    found = {(source, target) for source, target, _, _ in lines(role_table(table))}
    ends = {("__start__", "write"), ("check", "__end__")}
    assert found == {("write", "check"), ("check", "write"), *ends}


def test_a_unit_shows_its_output_its_tools_and_its_condition() -> None:
    shape = whole(unit("u", output=Literal["a", "b"], tools=[read_file], when=field("x") == "y")).shapes[1]
    assert shape == Box("", "unit", "u", ("→ a | b", "tools: read_file", "when x == 'y'"))
    assert whole(unit("u", tools=lambda snapshot: [])).shapes[1].notes == ("tools: chosen at run time",)


def test_a_handler_shows_its_key_and_the_unit_behind_it() -> None:
    assert group(RouterFlow(unit("pick"), {"fast": one})).shapes[1] == Box(
        "fast", "unit", "fast", ("unit one",)
    )


def test_a_function_is_a_step_with_its_condition() -> None:
    def is_late(snapshot: Snapshot) -> bool:
        return True

    shape = group(one >> step(lambda s: 1, id="check", when=is_late)).shapes[1]
    assert shape == Box("check", "step", "check", ("when is_late",))


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (read_file, "read_file"),
        ({"name": "raw"}, "raw"),
        ({"type": "function", "function": {"name": "wired"}}, "wired"),
        ({"type": "web_search"}, "web_search"),
    ],
)
def test_a_tool_is_named_in_each_of_its_forms(tool: Any, name: str) -> None:
    assert tool_name(tool) == name


# The two formats


FLOWS = {
    "sequence": one >> [two, three] >> four,
    "router": RouterFlow(unit("pick"), {"a": one, "b": two >> three}),
    "loop": LoopFlow(RouterFlow(unit("pick"), {"a": one}), 5),
    "reflexion": reflexion,
    "dag": DAGFlow(unit("plan"), [one, two, three], unit("report"), dependencies={"two": ["one"]}),
    "planned": DAGFlow(unit("plan"), [one, two], unit("report"), replan=1),
    "delegation": DelegationFlow(unit("boss"), {"helper": unit("helper"), "coder": reflexion}),
    "broadcast": BroadcastFlow(one, two, three) >> four,
    "map": ParallelFlow.map(one, over="items", reducer=two),
    "composite": CompositeFlow(RouterFlow(unit("pick"), {"a": one}), LoopFlow(two, 3)),
    "empty": SequentialFlow(),
    "review": code_review,
}
every_flow = pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS.keys())


@every_flow
def test_each_flow_is_drawn_in_both_formats_and_always_the_same(flow: Any) -> None:
    drawing = flow.draw()
    assert drawing.mermaid == draw(flow) == flow.draw().mermaid
    assert drawing.svg == draw(flow, format="svg") == flow.draw().svg
    ElementTree.fromstring(drawing.svg)


@every_flow
def test_mermaid_opens_and_closes_each_box_and_names_each_end_of_a_line(flow: Any) -> None:
    rows = [row.strip() for row in flow.draw().mermaid.splitlines()]
    assert sum(row.startswith("subgraph ") for row in rows) == rows.count("end")
    named = set(re.findall(r"^(?:subgraph )?(n\d+)[\[({]", "\n".join(rows), re.M))
    ends = [re.match(r"(n\d+) <?-\S*>(?:\|.*\|)? (n\d+)$", row) for row in rows]
    assert {name for found in ends if found for name in found.groups()} <= named


def test_mermaid_styles_the_lines_that_differ_by_their_number() -> None:
    rows = [row.strip() for row in FLOWS["delegation"].draw().mermaid.splitlines()]
    arrows = [row for row in rows if re.match(r"n\d+ <?-", row)]
    numbers = next(re.search(r"linkStyle ([\d,]+) stroke:#6b46c1", row) for row in rows if "#6b46c1" in row)
    assert numbers is not None
    assert all("delegates" in arrows[int(number)] for number in numbers[1].split(","))


def test_svg_styles_the_lines_that_differ() -> None:
    assert classes(FLOWS["delegation"].draw().svg).count("delegates") == 2
    assert classes(FLOWS["broadcast"].draw().svg).count("hears") == 3
    assert "again" in classes(FLOWS["loop"].draw().svg)
    assert "planned" in classes(FLOWS["planned"].draw().svg)


def test_the_last_piece_of_a_line_has_a_length_so_that_its_arrow_points_along_it() -> None:
    courses = re.findall(r'<path d="(M[^"]*)"[^>]*marker-end', draw(code_review, format="svg"))
    assert len(courses) > 10
    for course in courses:
        last, end = re.findall(r"-?[\d.]+,-?[\d.]+", course)[-2:]
        assert last != end, course


def test_the_code_review_shows_all_of_its_words() -> None:
    shown = texts(code_review.draw().svg)
    for word in (
        "triage",
        "quick",
        "deep",
        "dag",
        "router",
        "reflexion ×3",
        "security",
        "actor",
        "bugs",
        "again",
    ):
        assert word in shown, word
    assert "tools: read_file, search, list_files" in shown


def test_a_loop_around_a_flow_says_so_in_mermaid_where_no_line_can() -> None:
    assert "<i>router · ↺ again</i>" in FLOWS["loop"].draw().mermaid


def test_a_notebook_gets_the_svg() -> None:
    drawing = one.draw()
    assert isinstance(drawing, Drawing)
    assert drawing._repr_svg_() == drawing._repr_mimebundle_()["image/svg+xml"] == drawing.svg


def test_an_unknown_format_and_what_is_no_part_are_refused() -> None:
    with pytest.raises(ValueError, match="'mermaid' or 'svg', got 'png'"):
        draw(one, format="png")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="cannot stand in a flow"):
        draw(5)


# Any text


NASTY = "a \"b\" <c> & 'd' ` # ; end \\ 记账 🙂 \u0301"
IDS = st.text(min_size=1, max_size=30).filter(
    lambda s: bool(s.strip()) and not set(s) & set(RESERVED) and s[0] != "_"
)


def test_signs_with_a_meaning_stay_text_in_both_formats() -> None:
    flow = RouterFlow(unit("pick"), {NASTY: one})
    assert NASTY in texts(flow.draw().svg)
    mermaid = flow.draw().mermaid
    assert "<c>" not in mermaid
    assert "#60;c#62;" in mermaid
    assert '"b"' not in mermaid


@given(st.lists(IDS, min_size=1, max_size=4, unique=True))
def test_any_ids_give_a_readable_picture(ids: list[str]) -> None:
    svg = ParallelFlow(*map(unit, ids)).draw().svg
    ElementTree.fromstring(svg.encode())
    for row in ParallelFlow(*map(unit, ids)).draw().mermaid.splitlines():
        assert row.count('"') in (0, 2)


def test_a_long_title_is_broken_and_fits_into_its_box() -> None:
    title = "这是一个非常非常长的中文单元名称用来测试宽度" * 2
    tree = ElementTree.fromstring(unit(title).draw().svg)
    rect = next(found for found in tree.iter(f"{SVG}rect") if found.get("rx") == "6.0")
    rows = [str(found.text) for found in tree.iter(f"{SVG}text")]
    assert "".join(rows) == title
    assert max(text_width(row, 14, bold=True) for row in rows) <= float(rect.get("width", 0))


def test_chinese_signs_are_a_full_em_wide_and_accents_none() -> None:
    assert text_width("记账", 10) >= 20
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert wrapped("one two three", 10, 45) == ["one two", "three"]


# The layout


def test_lines_that_go_in_circles_are_told_from_those_that_go_on() -> None:
    assert backward("abc", [("a", "b"), ("b", "c"), ("c", "a"), ("b", "b")]) == {2, 3}
    assert ranked("abcd", [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]) == {
        "a": 0,
        "b": 1,
        "c": 1,
        "d": 2,
    }


def test_the_order_in_a_layer_avoids_crossings() -> None:
    ranks = {"a": 0, "b": 0, "x": 1, "y": 1}
    passed: dict[int, list[Any]] = {0: ["a", "y"], 1: ["b", "x"]}
    found = ordered(ranks, passed)
    assert crossings(found, neighbours(passed)[1]) == 0


KEYS = [f"k{number}" for number in range(8)]
LINKS = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS)), max_size=16, unique=True)


@given(LINKS, st.lists(st.tuples(st.floats(20, 300), st.floats(10, 200)), min_size=8, max_size=8))
def test_no_two_shapes_overlap_and_all_is_within_the_picture(links: Any, sizes: Any) -> None:
    plan = planned(dict(zip(KEYS, sizes, strict=True)), [Line(*link, label="label") for link in links])
    for one, other in combinations(plan.spots.values(), 2):
        beside = one.right <= other.x + 0.01 or other.right <= one.x + 0.01
        assert beside or one.bottom <= other.y + 0.01 or other.bottom <= one.y + 0.01
    points = [point for way in plan.ways for point in way.points]
    assert all(-0.01 <= x <= plan.width + 0.01 and -0.01 <= y <= plan.height + 0.01 for x, y in points)


def test_a_wide_flow_is_drawn_in_good_time() -> None:
    flow = unit("start") >> ParallelFlow(*(unit(f"u{number}") for number in range(400)), reducer=four)
    assert len(texts(flow.draw().svg)) > 400


# LangGraph's own drawing


def test_langgraph_draws_the_units_their_tools_and_the_real_edges() -> None:
    graph = Workflow(code_review, model=ScriptedModel([])).graph.get_graph(xray=True)
    ends = [(edge.source, edge.target) for edge in graph.edges]
    edges = {(source.removesuffix(":__end__"), target.removesuffix(":__start__")) for source, target in ends}
    assert {("triage", "quick"), ("triage", "deep:plan")} <= edges
    assert {("deep:steps:security", "deep:steps:bugs"), ("deep:steps:bugs", "deep:steps:report")} <= edges
    assert ("deep:steps:security:evaluator", "deep:steps:security:actor") in edges
    assert ("deep:steps:performance", "deep:steps:bugs") not in edges
    assert graph.nodes["deep:steps:bugs:act"].metadata == {"plait_tools": "read_file, search, list_files"}
    assert graph.nodes["triage:act"].metadata is None
    assert "plait_tools = read_file, search, list_files" in graph.draw_mermaid()

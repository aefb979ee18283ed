"""Every example through LangGraph's server: it is described, drawn as it is, and does what it says."""

from typing import Any

from plait.graphs.flow import Flow
from plait.graphs.region import Region
from plait.nodes.tools import as_tool

from .cases import CASES, NAMES, Case, on_each
from .conftest import SERVED

TURNS = [
    "remember: the key is under the mat",
    *(f"message {n}" for n in range(2, 10)),
    "what did I tell you?",
]


def test_every_example_is_served() -> None:
    assert set(SERVED) == NAMES


async def test_each_example_gives_the_right_output(client: Any, contexts: Any) -> None:
    async def run(case: Case) -> Any:
        given = {"input": {"task": case.task}, "context": contexts.get(case.name)}
        values = await client.runs.wait(None, case.name, **given)
        assert case.is_right(values), values
        return sorted(step["path"] for step in values["steps"])

    assert await on_each(run) == {case.name: sorted(case.steps) for case in CASES}


async def test_ten_turns_with_messages_as_input(client: Any) -> None:
    thread = await client.threads.create()
    answers = []
    for said in TURNS:
        given = {"messages": [{"role": "user", "content": said}]}
        values = await client.runs.wait(thread["thread_id"], "chat", input=given)
        answers.append(values["output"])
    assert values["outcome"] == "done"
    assert len(values["messages"]) == 2 * len(TURNS)
    assert "the key is under the mat" in answers[-1]


async def test_a_task_streams_its_steps(client: Any, contexts: Any) -> None:
    thread = await client.threads.create()
    parts = client.runs.stream(
        thread["thread_id"],
        "accounting",
        input={"task": "午饭 32"},
        stream_mode="updates",
        context=contexts["accounting"],
    )
    nodes = [name async for part in parts if part.event == "updates" for name in part.data]
    assert nodes == ["_enter", "classify", "record", "_exit"]


async def test_the_input_form_is_described(client: Any) -> None:
    async def schemas(case: Case) -> Any:
        return await client.assistants.get_schemas(await assistant(client, case))

    for found in (await on_each(schemas)).values():
        keys = found["input_schema"]["properties"]
        assert set(keys) == {"task", "messages", "state"}
        assert keys["task"]["type"] == "string"
        assert all(key["title"] and key["description"] for key in keys.values())


async def test_what_an_example_is_given_beside_the_input_is_described(client: Any, contexts: Any) -> None:
    async def schemas(case: Case) -> Any:
        return (await client.assistants.get_schemas(await assistant(client, case)))["context_schema"]

    for name, found in (await on_each(schemas)).items():
        keys = (found or {}).get("properties", {})
        assert set(keys) == set(contexts.get(name, {}))
        assert all(key["description"] for key in keys.values())


async def test_the_drawn_graph_is_the_flow(client: Any) -> None:
    async def drawn(case: Case) -> Any:
        return await client.assistants.get_graph(await assistant(client, case), xray=True)

    for name, graph in (await on_each(drawn)).items():
        flow = next(case.flow for case in CASES if case.name == name)
        units = dict(leaves(flow))
        nodes = {node["id"]: node.get("metadata") or {} for node in graph["nodes"]}
        assert {placed(flow, node) for node in nodes} - flows(flow) == set(units), name
        assert {place for place in units if tools_of(units[place])} == {
            placed(flow, node) for node, told in nodes.items() if "plait_tools" in told
        }
        for place, unit in units.items():
            told = nodes.get(":".join((*place, "act")), {}).get("plait_tools", "")
            assert {tool for tool in told.split(", ") if tool} >= tools_of(unit), (name, place)
        ways = {way for edge in graph["edges"] if (way := between(flow, edge))}
        assert ways == set(wanted(flow)), name


async def assistant(client: Any, case: Case) -> str:
    found = (await client.assistants.search(graph_id=case.name))[0]
    assert found["description"]
    return str(found["assistant_id"])


Place = tuple[str, ...]


def leaves(flow: Any, at: Place = ()) -> list[tuple[Place, Any]]:
    """The units and steps of a flow by the keys that lead to them."""
    if not isinstance(flow, Flow):
        return [(at or (flow.id,), flow)]
    return [found for key, part in flow.parts.items() for found in leaves(part, (*at, key))]


def flows(flow: Any, at: Place = ()) -> set[Place]:
    """The places of the flows in it, its own included."""
    if not isinstance(flow, Flow):
        return set()
    return {at}.union(*(flows(part, (*at, key)) for key, part in flow.parts.items()))


def tools_of(unit: Any) -> set[str]:
    given = getattr(unit, "tools", ())
    return set() if callable(given) else {as_tool(tool).name for tool in given}


def placed(flow: Any, node: str) -> Place:
    """The part that a drawn node belongs to."""
    found: list[str] = []
    for segment in node.split(":"):
        if not isinstance(flow, Flow) or segment not in flow.parts:
            break
        found.append(segment)
        flow = flow.parts[segment]
    return tuple(found)


def between(flow: Any, edge: Any) -> tuple[Place, str, str] | None:
    """The flow in which a drawn edge leads from one part to another, or to the node that plans, and those."""
    source, target = placed(flow, edge["source"]), placed(flow, edge["target"])
    common = tuple(a for a, b in zip(source, target, strict=False) if a == b)
    common = common if source[: len(common)] == target[: len(common)] else ()
    ends = [
        (place[len(common) :] or (node.rpartition(":")[2],))[0]
        for place, node in ((source, edge["source"]), (target, edge["target"]))
    ]
    is_own = source == target
    is_edge = not any(end.startswith("__") or end in ("_enter", "_exit") for end in ends)
    return (common, *ends) if is_edge and not is_own else None  # type: ignore[return-value]


def wanted(flow: Any, at: Place = ()) -> list[tuple[Place, str, str]]:
    """The ways between the parts of a flow; those of a plan made at run time lead over the one who plans."""
    if not isinstance(flow, Flow):
        return []
    if isinstance(flow, Region) and flow.needs is None:
        ways = [(at, *way) for key in flow.parts for way in (("_ready", key), (key, "_ready"))]
    else:
        ways = [(at, edge.source, edge.target) for edge in flow.edges if not _is_end(edge)]
    return ways + [way for key, part in flow.parts.items() for way in wanted(part, (*at, key))]


def _is_end(edge: Any) -> bool:
    return "__start__" in (edge.source, edge.target) or "__end__" in (edge.source, edge.target)

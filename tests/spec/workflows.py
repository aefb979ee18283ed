"""Generated workflows that use every table of the YAML form."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import strategies as st
from langgraph.types import RetryPolicy

from plait import (
    BroadcastFlow,
    CompositeFlow,
    Condition,
    DAGFlow,
    Delegated,
    DelegationFlow,
    Limit,
    Limits,
    LoopFlow,
    MaxRounds,
    ParallelFlow,
    ReflexionFlow,
    Resolved,
    RouterFlow,
    SequentialFlow,
    StopReason,
    field,
    step,
)
from plait import WorkflowUnit as Unit
from plait.adapters.agent import AgentAdapter
from plait.adapters.langchain import LangChainAdapter
from plait.adapters.langgraph import LangGraphAdapter
from plait.adapters.llm import LlmAdapter
from plait.adapters.react import ReactAdapter
from plait.adapters.text_react import TextReactAdapter
from plait.spec.jsontypes import type_of

from . import things

odd = [
    "yes",
    "0o17",
    "1e5",
    "~",
    "a: b",
    "# no",
    "${HOME}",
    "$${x",
    "two\nlines\n",
    " lead",
    "午饭",
    "\x85",
    "-",
]
texts = st.one_of(st.sampled_from(odd), st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
words = st.text("abcdefgh", min_size=1, max_size=4)
numbers = st.integers(1, 50)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the fields, by their strategies."""
    return st.fixed_dictionaries({}, optional=fields)


limits = st.builds(
    Limits, maybe(st.integers(0, 9)), maybe(numbers), maybe(numbers), maybe(st.floats(0, 99) | numbers)
)
scalars = st.one_of(st.booleans(), st.integers(-9, 9), st.floats(-9, 9), texts)
comparisons = st.tuples(words, st.sampled_from(["__eq__", "__ne__", "__lt__", "__ge__"]), scalars).map(
    lambda made: getattr(field(made[0]), made[1])(made[2])
)
conditions = st.one_of(comparisons, st.just(things.holds))
outputs = st.sampled_from(
    [
        str,
        int,
        dict,
        things.Verdict,
        things.Entry,
        things.Colour,
        things.Notes,
        list[str],
        dict[str, things.Entry],
        things.Entry | things.Verdict,
        things.Entry | None,
        Literal["a", "b: c", 3],
        list[Literal["x"] | None],
        tuple[int, str],
        type_of({"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}),
        type_of({"type": "array", "items": {"enum": ["a", "yes"]}}),
    ]
)
models = st.sampled_from(["openai:gpt-5-mini", "anthropic:claude", things.MODEL])
adapters = st.one_of(
    st.sampled_from(
        [
            things.ADAPTER,
            AgentAdapter(things.answered, None),
            LangChainAdapter(things.CHAIN, None),
            LangChainAdapter(things.CHAIN, things.entered),
            LangGraphAdapter(things.GRAPH, things.entered, None),
        ]
    ),
    models.map(ReactAdapter),
    models.map(TextReactAdapter),
    st.builds(LlmAdapter, models, st.sampled_from(["auto", "parse"]), st.integers(1, 3)),
    st.builds(lambda model: AgentAdapter(things.answered, LlmAdapter(model, "tool", 2)), models),
)
retries = some(
    initial_interval=st.floats(0, 9),
    max_attempts=numbers,
    jitter=st.booleans(),
    retry_on=st.sampled_from([(ValueError, KeyError), ValueError, things.retried]),
).map(lambda given: RetryPolicy(**given))
policies = st.recursive(
    st.sampled_from(
        [
            Resolved(),
            StopReason(),
            StopReason("length"),
            MaxRounds(4),
            Condition(things.is_full),
            Delegated(),
            Delegated("a"),
            Limit(Limits(tokens=5)),
            things.POLICY,
        ]
    ),
    lambda inner: st.tuples(inner, inner, st.booleans()).map(
        lambda made: made[0] | made[1] if made[2] else made[0] & made[1]
    ),
    max_leaves=4,
)
tool_lists = st.one_of(
    st.lists(st.sampled_from([things.search, things.stock, things.LOOK_UP]), unique_by=id, max_size=3),
    st.just(things.tools_of),
    st.just(tuple(things.REGISTRY)),
)
unit_fields = some(
    prompt=texts | st.just(things.prompted),
    output=outputs,
    tools=tool_lists,
    input_adapter=st.just(things.entered),
    output_adapter=st.sampled_from(["note", "odd:key", things.written]),
    termination=policies,
    memory=st.sampled_from(["none", "run", "thread"]),
    sees=st.sampled_from(["predecessors", "all-steps"]),
    conversation=st.booleans(),
    model=models,
    adapter=adapters,
    thinking_level=st.sampled_from(["off", "high"]),
    limits=limits,
    retry=retries,
    when=conditions,
    tool_execution=st.sampled_from(["parallel", "sequential"]),
    tool_choice=words,
    max_rounds=numbers,
    reminders=st.integers(0, 3),
    output_cap=st.integers(100, 999),
    accept_json_text=st.booleans(),
    steering=st.sampled_from(["all", "one-at-a-time"]),
    salvage=st.just(things.Notes),
    description=texts,
    writes=st.lists(words, max_size=2, unique=True).map(tuple),
)


def unit(name: str) -> st.SearchStrategy[Unit[Any]]:
    """The unit of this name, the same one wherever it stands in an example."""
    return st.shared(unit_fields.map(lambda fields: Unit(name, **fields)), key=name)


units = st.one_of(*map(unit, ["a", "b", "true", "0o7", "写"]))
steps = st.sampled_from(
    [step(things.counted), step(things.noted), step(things.counted, id="odd", when=field("x") > 1)]
)
common = some(id=words, when=conditions, limits=limits)
region = some(
    on_failure=st.sampled_from(["finish", "fail_fast", "require_all"]),
    max_concurrency=numbers,
    scheduling=st.sampled_from(["eager", "superstep"]),
)


def _wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    keyed = st.dictionaries(words, inner, min_size=1, max_size=3)

    def made(build: Any, *parts: Any, **options: Any) -> st.SearchStrategy[Any]:
        more = st.tuples(*parts, some(**options), common)
        return more.map(lambda drawn: build(*drawn[:-2], **{**drawn[-2], **drawn[-1]}))

    def beside(build: Any, *parts: Any) -> st.SearchStrategy[Any]:
        drawn = st.tuples(*parts, some(reducer=inner, quorum=st.just(1)), region, common)
        return drawn.map(lambda it: build(*it[:-3], **{**it[-3], **it[-2], **it[-1]}))

    ranks = st.sampled_from([field("score"), things.chosen])
    return st.one_of(
        made(lambda parts, **o: SequentialFlow(*parts, **o), several),
        several.map(lambda parts: SequentialFlow(*parts)),
        several.map(lambda parts: SequentialFlow(parts[0], parts)),
        made(lambda parts, **o: CompositeFlow(*parts, **o), several),
        made(LoopFlow, inner, max_iterations=numbers, until=conditions, best=ranks),
        made(RouterFlow, units, keyed, route=st.sampled_from(["kind", things.chosen])),
        beside(ParallelFlow, keyed),
        beside(lambda parts, **o: ParallelFlow(*parts, **o), several),
        beside(ParallelFlow.map, inner, st.sampled_from(["rows", field("rows"), things.items, "a:b"])),
        _dags(inner),
        made(DelegationFlow, units, several, max_delegations=numbers, max_depth=st.integers(1, 3)),
        made(DelegationFlow, units, keyed),
        made(ReflexionFlow, inner, inner, conditions, score=st.sampled_from(["grade", things.chosen])),
        st.tuples(several, some(rounds=numbers, until=conditions), region, common).map(
            lambda it: BroadcastFlow(*it[0], **{**it[1], **it[2], **it[3]})
        ),
    )


def _dags(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    executors = st.dictionaries(words, inner, min_size=1, max_size=3)
    drawn = st.tuples(executors, maybe(inner), st.booleans(), units, maybe(conditions), region, common)

    def made(it: Any) -> DAGFlow[Any]:
        keys, aggregator, is_declared, planner, again, shared, own = list(it[0]), *it[1:]
        needs = {key: keys[:number] for number, key in enumerate(keys)} if is_declared else None
        return DAGFlow(planner, it[0], aggregator, needs, replan=1, replan_when=again, **shared, **own)

    return drawn.map(made)


flows = st.recursive(units | steps, _wider, max_leaves=8)
options = some(
    adapter=adapters,
    state=st.sampled_from(
        [things.Shared, things.Notes, type_of({"type": "object", "properties": {"n": {"type": "integer"}}})]
    ),
    context_schema=st.just(things.Entry),
    checkpointer=st.sampled_from(["memory", "sqlite:///x.db", "postgresql://a:b@c/d"]),
    store=st.just("memory"),
    encryption_key=st.just("env:KEY"),
    limits=limits,
    max_concurrency=numbers,
    scheduling=st.sampled_from(["eager", "superstep"]),
    default_effect=st.sampled_from(["read", "unsafe"]),
    granularity=st.sampled_from(["round", "unit"]),
    description=texts,
)

"""A JSON Schema makes a strict type that remembers its schema, and that every process names alike."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from typing import Annotated, Any, get_args, get_type_hints

import pytest

from plait import DefinitionError, RouterFlow, Workflow, WorkflowUnit, field
from plait.core.codec import decode, encode, registry_of
from plait.core.errors import ClassChanged
from plait.core.stateschema import state_schema
from plait.nodes.schema import InvalidOutput, output_schema
from plait.spec.jsontypes import SchemaFault, schema_of, type_of
from plait.testing import ScriptedModel, call, text

from . import things

ENTRY: dict[str, Any] = {
    "title": "Entry",
    "description": "One expense.",
    "type": "object",
    "properties": {
        "item": {"type": "string", "minLength": 1, "description": "what was bought"},
        "amount": {"type": "string", "format": "decimal", "exclusiveMinimum": 0},
        "date": {"type": "string", "format": "date"},
        "kind": {"enum": ["food", "fun"], "default": "food"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "default": []},
        "place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    "required": ["item", "amount"],
    "additionalProperties": False,
}
TREE: dict[str, Any] = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "default": []},
                "parent": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}], "default": None},
            },
            "required": ["name"],
        }
    },
}
SCHEMAS = {
    "entry": ENTRY,
    "tree": TREE,
    "choice": {"enum": ["a", "b", 3, None]},
    "list": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 2},
    "map": {"type": "object", "additionalProperties": {"type": "number"}},
    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    "anything": {},
    "either": {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}},
                "required": ["kind"],
            },
            {
                "type": "object",
                "properties": {"kind": {"const": "b"}, "y": {"type": "string"}},
                "required": ["kind"],
            },
        ]
    },
    "joined": {
        "allOf": [
            {"$ref": "#/$defs/named"},
            {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]},
        ],
        "$defs": {
            "named": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        },
    },
    "odd names": {
        "type": "object",
        "properties": {
            name: {"type": "integer"} for name in ("copy", "_x", "my-key", "model_dump", "class", "")
        },
    },
}


def read(schema: dict[str, Any], value: Any) -> Any:
    made = output_schema(type_of(schema))
    return made.validate({"value": value} if made.wrapped else value)


def test_values_are_read_strictly_and_by_attribute():
    entry = read(ENTRY, {"item": "tea", "amount": "3.20", "date": "2026-11-30", "place": {"city": "Bonn"}})

    assert (entry.item, entry.amount, entry.date) == ("tea", Decimal("3.20"), dt.date(2026, 11, 30))
    assert (entry.kind, entry.note, entry.tags, entry.place.city) == ("food", None, [], "Bonn")
    assert repr(entry).startswith("Entry(item='tea'")


BAD = [
    (ENTRY, {"item": "tea"}),
    (ENTRY, {"item": "", "amount": "1"}),
    (ENTRY, {"item": "tea", "amount": "0"}),
    (ENTRY, {"item": "tea", "amount": "1", "kind": "rent"}),
    (ENTRY, {"item": "tea", "amount": "1", "note": None}),
    (ENTRY, {"item": "tea", "amount": "1", "note": 3}),
    (ENTRY, {"item": "tea", "amount": "1", "date": "yesterday"}),
    (ENTRY, {"item": "tea", "amount": "1", "tags": ["a", "a"]}),
    (ENTRY, {"item": "tea", "amount": "1", "place": {}}),
    (ENTRY, {"item": "tea", "amount": "1", "more": 1}),
    (TREE, {"name": "a", "children": [{"name": 3}]}),
    (SCHEMAS["choice"], "c"),
    (SCHEMAS["list"], [1, 2, 3]),
    (SCHEMAS["list"], [0]),
    (SCHEMAS["list"], ["1"]),
    (SCHEMAS["map"], {"a": "1"}),
    (SCHEMAS["pair"], ["a"]),
    (SCHEMAS["either"], {"kind": "b", "y": 3}),
    (SCHEMAS["joined"], {"name": "a"}),
]


@pytest.mark.parametrize(("schema", "value"), BAD)
def test_what_the_schema_does_not_allow_is_refused(schema, value):
    with pytest.raises(InvalidOutput):
        read(schema, value)


def test_a_recursive_schema_nests():
    tree = read(TREE, {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]})

    assert tree.children[0].children[0].name == "c"
    assert tree.children[0].parent is None


def test_unions_lists_and_joined_objects_are_read():
    assert read(SCHEMAS["either"], {"kind": "b", "y": "z"}).y == "z"
    assert read(SCHEMAS["pair"], ["a", 1]) == ("a", 1)
    assert read(SCHEMAS["joined"], {"name": "a", "age": 3}).age == 3
    odd = read(SCHEMAS["odd names"], {"copy": 1, "_x": 2, "my-key": 3, "class": 4})
    assert (odd.copy_, odd.x_, getattr(odd, "my-key"), getattr(odd, "class")) == (1, 2, 3, 4)
    assert output_schema(type(odd)).dump(odd) == {"copy": 1, "_x": 2, "my-key": 3, "class": 4}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_schema_comes_back_out(schema):
    assert schema_of(type_of(schema)) == schema
    assert list(schema_of(type_of(schema)) or {}) == list(schema)


def test_types_that_no_schema_made_have_none():
    assert [schema_of(it) for it in (str, things.Entry, things.Verdict, list[int], Annotated[int, 3], 3)] == [
        None
    ] * 6
    (node,) = get_args(get_args(type_of({"type": "array", "items": ENTRY}))[0])
    assert schema_of(node) is None


def test_equal_schemas_are_one_type():
    again = {**{key: ENTRY[key] for key in reversed(ENTRY)}}

    assert type_of(again) is type_of(ENTRY)
    assert type_of({**ENTRY, "title": "Other"}) is not type_of(ENTRY)


def test_a_value_is_read_by_the_class_of_a_schema_that_says_the_same_in_other_words():
    old, other = type_of(TREE), type_of({"title": "Other", **ENTRY, "required": ["item"]})
    said = json.loads(json.dumps(ENTRY).replace("what was bought", "the thing"))
    entry, new = type_of(ENTRY), type_of({**said, "required": ["amount", "item"]})
    stored = encode(read(ENTRY, {"item": "tea", "amount": "3"}), "entry", registry_of(entry))

    assert new is not entry
    assert type(decode(stored, "entry", registry_of(new))) is new
    for differs in (old, other):
        with pytest.raises(ClassChanged, match=r"entry: .* is defined differently now"):
            decode(stored, "entry", registry_of(differs))


def test_properties_keep_their_order():
    text = {"type": "string"}
    orders = [["answer", "reason"], ["reason", "answer"]]
    types = [type_of({"type": "object", "properties": dict.fromkeys(order, text)}) for order in orders]

    assert [list(output_schema(made).parameters()["properties"]) for made in types] == orders


@pytest.mark.parametrize("name", ["copy", "json", "schema", "model_config", "_x"])
def test_a_property_that_pydantic_has_a_use_for_keeps_its_name(name):
    schema = {"type": "object", "properties": {name: {"enum": ["x", "y"]}, "note": {"type": "string"}}}
    made = type_of({**schema, "required": [name]})
    judge, done = (
        WorkflowUnit("judge", output=made),
        WorkflowUnit("done", answer="text", when=field(name) == "x"),
    )
    model = ScriptedModel({"judge": [call("resolve", **{name: "x"})], "done": [text("yes")]})

    assert Workflow(judge >> done, model=model).run_sync("go").output == "yes"
    router = RouterFlow(judge, {"x": WorkflowUnit("a", answer="text"), "y": WorkflowUnit("b")}, route=name)
    routed = ScriptedModel({"judge": [call("resolve", **{name: "x"})], "a": [text("A")]})
    assert Workflow(router, model=routed).run_sync("go").output == "A"


def test_a_state_key_keeps_its_name():
    state = type_of({"type": "object", "properties": {"copy": {"type": "string"}}})
    unit = WorkflowUnit("a", answer="text", output_adapter="copy")
    made = Workflow(unit, model=ScriptedModel([text("A")]), state=state).run_sync("go", state={"copy": "0"})

    assert made.state["copy"] == "A"


def test_a_router_may_say_yes_or_no():
    router = WorkflowUnit("r", output=type_of({"enum": [True, False, None]}))
    handlers = {"true": WorkflowUnit("a", answer="text"), "false": WorkflowUnit("b")}
    model = ScriptedModel({"r": [call("resolve", value=True)], "a": [text("A")]})
    assert Workflow(RouterFlow(router, handlers), model=model).run_sync("go").output == "A"


def test_a_router_whose_output_is_an_enum_names_its_handlers():
    router = WorkflowUnit("r", output=type_of({"enum": ["x", "y"]}))
    with pytest.raises(DefinitionError, match="routes without a handler: y"):
        Workflow(
            RouterFlow(router, {"x": WorkflowUnit("a"), "zz": WorkflowUnit("b")}), model=ScriptedModel([])
        )


def test_what_the_model_is_sent_says_what_the_schema_says():
    sent = output_schema(type_of(ENTRY)).parameters()

    assert sent["properties"]["item"] == ENTRY["properties"]["item"]
    assert sent["properties"]["date"] == ENTRY["properties"]["date"]
    assert sent["properties"]["kind"]["enum"] == ["food", "fun"]
    assert sent["properties"]["kind"]["default"] == "food"
    assert "default" not in sent["properties"]["note"]
    assert sent["properties"]["tags"]["uniqueItems"] is True
    assert (sent["required"], sent["additionalProperties"]) == (["item", "amount"], False)


def test_defaults_are_new_values_of_the_right_type():
    day = {
        "type": "object",
        "properties": {"day": {"type": "string", "format": "date", "default": "2026-01-02"}},
    }
    first, second = read(ENTRY, {"item": "a", "amount": "1"}), read(ENTRY, {"item": "b", "amount": "1"})

    first.tags.append("x")

    assert second.tags == []
    assert read(day, {}).day == dt.date(2026, 1, 2)


@pytest.mark.parametrize("name", ["entry", "tree", "either", "odd names"])
def test_values_pass_through_a_checkpoint(name):
    given = {
        "entry": {"item": "tea", "amount": "1", "place": {"city": "Bonn"}},
        "tree": {"name": "a", "children": [{"name": "b"}]},
        "either": {"kind": "a", "x": 1},
        "odd names": {"copy": 1, "my-key": 2},
    }
    known = registry_of(type_of(SCHEMAS[name]))
    value = read(SCHEMAS[name], given[name])

    back = decode(encode(value, "output", known), "output", known)

    assert back == value
    assert type(back) is type(value)


def test_another_process_names_the_types_alike():
    code = (
        "from tests.spec.test_jsontypes import *\n"
        "for schema in SCHEMAS.values(): print(*registry_of(type_of(schema)))"
    )
    here = "".join(f"{' '.join(registry_of(type_of(schema)))}\n" for schema in SCHEMAS.values())
    root = things.__file__.rpartition("/tests/")[0]
    there = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True, timeout=120
    )

    assert there.stdout == here
    assert "plait.spec.jsonmodels:Entry_" in here


def test_a_state_has_keys_defaults_and_reducers():
    state = state_schema(
        type_of(
            {
                "type": "object",
                "properties": {
                    "notes": {"type": "array", "items": {"type": "string"}, "x-plait-reducer": "append"},
                    "count": {"type": "integer", "x-plait-reducer": "add", "default": 0},
                    "latest": {"type": "string", "default": "none"},
                    "log": {"type": "array", "x-plait-reducer": "tests.spec.things:joined"},
                },
            },
            importer=lambda path: getattr(things, path.partition(":")[2]),
        )
    )

    assert state.merged("notes", ["a"], ["b"]) == ["a", "b"]
    assert state.merged("count", 2, 3) == 5
    assert state.reducers["log"] is things.joined
    assert (state.default("latest", None), state.default("count", None)) == ("none", 0)
    assert not state.has_reducer("latest")


FAULTS = [
    ({"type": "strin"}, ("type",), "string"),
    ({"type": "object", "propertys": {}}, ("propertys",), "properties"),
    (
        {"type": "object", "properties": {"a": {"type": "integer", "minimun": 1}}},
        ("properties", "a", "minimun"),
        "minimum",
    ),
    ({"type": "string", "minimum": 1}, ("minimum",), ""),
    ({"minimum": 1}, ("minimum",), ""),
    ({"type": "object", "properties": {"a": {}}, "required": ["b", "a"]}, ("required", 0), ""),
    ({"type": "object", "properties": {"amount": {}}, "required": ["amuont"]}, ("required", 0), "amount"),
    ({"$ref": "#/$defs/nod", "$defs": {"node": {}}}, ("$ref",), "node"),
    ({"$ref": "https://example.com/x.json"}, ("$ref",), ""),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, ("$defs", "a", "$ref"), ""),
    ({"$ref": "#"}, ("$ref",), ""),
    ({"enum": []}, ("enum",), ""),
    ({"enum": ["a", 1.5]}, ("enum", 1), ""),
    ({"type": "string", "enum": ["a", 3]}, ("enum", 1), ""),
    ({"type": "string", "format": "dat"}, ("format",), "date"),
    ({"type": "string", "pattern": "("}, ("pattern",), ""),
    ({"type": "string", "pattern": "(?=a)"}, ("pattern",), ""),
    (
        {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
        ("properties", "a", "default"),
        "",
    ),
    ({"anyOf": [{"type": "string"}], "type": "string"}, ("type",), ""),
    ({"anyOf": [{"type": "string"}, 3]}, ("anyOf", 1), ""),
    ({"type": ["string", "text"]}, ("type", 1), ""),
    ({"type": "array", "minItems": -1}, ("minItems",), ""),
    ({"type": "array", "items": {"type": "object", "properties": []}}, ("items", "properties"), ""),
    (
        {"type": "object", "properties": {"a": {"x-plait-reducer": "ad"}}},
        ("properties", "a", "x-plait-reducer"),
        "add",
    ),
    ({"type": "array", "items": {"x-plait-reducer": "add"}}, ("items", "x-plait-reducer"), ""),
    ({"not": {}}, ("not",), ""),
    ({"type": "string", "allOf": [{"minLength": 1}]}, ("type",), ""),
]


@pytest.mark.parametrize(("schema", "path", "near"), FAULTS)
def test_a_fault_is_told_with_its_place(schema, path, near):
    with pytest.raises(SchemaFault) as caught:
        type_of(schema)

    assert (caught.value.path, caught.value.nearest) == (path, near)


def bomb(size: int) -> dict[str, Any]:
    defs: dict[str, Any] = {
        f"a{n}": {"type": "array", "prefixItems": [{"$ref": f"#/$defs/a{n + 1}"}] * 2, "items": False}
        for n in range(size)
    }
    return {"$ref": "#/$defs/a0", "$defs": {**defs, f"a{size}": {"type": "string"}}}


def deep(size: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "string"}
    for _ in range(size):
        made = {"type": "object", "properties": {"a": made}}
    return made


@pytest.mark.parametrize("schema", [bomb(40), deep(100), {"type": "array", "items": {"anyOf": [{}] * 3000}}])
def test_a_schema_that_explodes_is_refused(schema):
    with pytest.raises(SchemaFault, match="larger than"):
        type_of(schema)


def test_a_schema_of_a_type_made_here_is_the_same_type():
    hints = get_type_hints(type_of(ENTRY), include_extras=True)

    assert set(hints) == set(ENTRY["properties"])
    assert type_of(schema_of(type_of(ENTRY)) or {}) is type_of(ENTRY)


PAUSING = """
apiVersion: plait/v1
kind: Workflow
spec:
  checkpointer: sqlite:///runs.db
  state:
    type: object
    properties:
      last: {title: Day, type: object, properties: {day: {type: string, format: date}}, required: [day]}
  units:
    - id: plan
      output:
        title: Plan
        type: object
        properties:
          steps: {type: array, items: {$ref: '#/$defs/step'}}
          day: {type: string, format: date}
        required: [steps, day]
        $defs: {step: {title: Step, type: object, properties: {name: {type: string}}, required: [name]}}
    - {id: act, tools: [{tool: 'helping:buy', approval: true, effect: idempotent}]}
  flow: [plan, act, 'helping:last']
  mock:
    plan: [{otherwise: {call: {resolve: {day: '2026-11-30', steps: [{name: '{input}'}]}}}}]
    act:
      - {when: {after: buy}, call: {resolve: {value: '{result}'}}}
      - otherwise: {call: {buy: {item: tea}}}
"""
HELPING = """
from plait import SharedState, Snapshot

def buy(item: str) -> str:
    "Buy an item."
    return f"bought {item}"

def last(snapshot: Snapshot):
    plan = next(step.output for step in snapshot.steps if step.unit == "plan")
    return f"{type(plan).__name__} {plan.day.year} {plan.steps[0].name} {snapshot.output}"
"""
RUN = """
import sys
from plait.workflow_file import load_workflow
workflow = load_workflow("w.yaml")
if sys.argv[1] == "start":
    result = workflow.run_sync("tea", thread_id="a")
else:
    import asyncio
    (asked,) = asyncio.run(workflow.thread("a").interrupts())
    result = asyncio.run(workflow.resume("a", {asked.id: {"type": "accept"}}))
print(result.outcome, result.output if result.outcome == "done" else "")
"""


def test_a_paused_thread_goes_on_in_another_process(tmp_path):
    (tmp_path / "w.yaml").write_text(PAUSING)
    (tmp_path / "helping.py").write_text(HELPING)
    (tmp_path / "run.py").write_text(RUN)

    def ran(word: str) -> Any:
        return subprocess.run(
            [sys.executable, "run.py", word],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    first, second = ran("start"), ran("resume")

    assert (first.stdout, first.stderr) == ("paused \n", "")
    assert second.stdout == "done Plan 2026 tea bought tea\n", second.stderr

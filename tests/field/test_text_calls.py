"""Field cases: calls that a model writes into its text, and arguments that arrive as JSON text."""

import pytest
from pydantic import BaseModel

from plait import WorkflowUnit
from plait.testing import call, text

from ..support import answers, run, run_failing

WRITTEN = '{"name":"search","arguments":{"q":"x"}}'
FORMS = [WRITTEN, f"<tool_call>\n{WRITTEN}\n</tool_call>", f"```json\n{WRITTEN}\n```"]


class Ok(BaseModel):
    ok: bool


class Item(BaseModel):
    sku: str


class Order(BaseModel):
    items: list[Item]
    note: str


@pytest.fixture
def queries():
    return []


@pytest.fixture
def unit(queries):
    def search(q: str) -> str:
        """Search for q."""
        queries.append(q)
        return f"about {q}"

    return WorkflowUnit("work", output=Ok, tools=[search])


@pytest.mark.parametrize("written", FORMS)
async def test_f09_a_written_call_draws_a_reminder(written, unit, queries):
    result, model = await run(unit, [text(written), call("resolve", ok=True)])
    assert result.output == Ok(ok=True)
    assert queries == []
    assert "resolve" in model.requests[1].user
    assert len(model.requests) == 2


@pytest.mark.parametrize("written", FORMS)
async def test_f09_a_written_call_is_made_when_the_unit_allows_it(written, unit, queries):
    result, model = await run(unit.with_(lift_text_calls=True), [text(written), call("resolve", ok=True)])
    assert result.output == Ok(ok=True)
    assert queries == ["x"]
    assert [answer.content for answer in answers(model.requests[1])] == ["about x"]
    assert result.steps[0].tool_calls[0].args == {"q": "x"}


async def test_f09_a_written_resolve_ends_the_unit_when_it_allows_it(unit):
    written = '<tool_call>{"name":"resolve","arguments":{"ok":true}}</tool_call>'
    result, model = await run(unit.with_(lift_text_calls=True), [text(written)])
    assert result.output == Ok(ok=True)
    assert len(model.requests) == 1


@pytest.mark.parametrize("lift", [False, True])
async def test_f09_json_that_names_no_tool_is_text(lift, unit, queries):
    ann = '{"name":"Ann","arguments":[]}'
    _, model = await run(unit.with_(lift_text_calls=lift), [text(ann), call("resolve", ok=True)])
    assert queries == []
    assert [message.content for message in model.requests[1].messages if message.type == "ai"] == [ann]


async def test_f09_a_written_call_is_never_the_result(unit):
    error, _ = await run_failing(unit.with_(reminders=0), [text(WRITTEN)])
    assert error.reason == "no-resolve"


async def test_f25_json_text_is_read_where_the_schema_wants_an_array():
    note = '{"keep":"text"}'
    result, model = await run(
        WorkflowUnit("work", output=Order), [call("resolve", items='[{"sku":"a"}]', note=note)]
    )
    assert result.output == Order(items=[Item(sku="a")], note=note)
    assert len(model.requests) == 1


@pytest.mark.parametrize("items", ["a, b", '{"sku":"a"', '[{"sku":1}]', '"[]"x', "[1, 2]"])
async def test_f25_text_of_another_shape_is_still_refused(items):
    script = [call("resolve", items=items, note="n"), call("resolve", items=[{"sku": "a"}], note="n")]
    result, model = await run(WorkflowUnit("work", output=Order), script)
    assert result.output.items == [Item(sku="a")]
    (answer,) = answers(model.requests[1])
    assert answer.status == "error"
    assert "items" in answer.content


async def test_f25_a_tool_with_nested_arguments_gets_them_as_declared():
    seen = []

    def save(items: list[Item], note: str) -> str:
        """Save."""
        seen.append((items, note))
        return "saved"

    unit = WorkflowUnit("work", output=Ok, tools=[save])
    script = [call("save", items=[{"sku": "a"}], note='{"keep":"text"}'), call("resolve", ok=True)]
    await run(unit, script)
    assert seen == [([Item(sku="a")], '{"keep":"text"}')]

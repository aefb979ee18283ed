"""Field cases: what models do to a router's label, and labels that do not exist."""

from typing import Literal

import pytest
from pydantic import BaseModel

from plait import RouterFlow, Workflow, WorkflowUnit
from plait.testing import call, text

from ..support import answers, failure, scripted

NOISY = [
    (" Billing\n", "billing"),
    ("**tech**", "tech"),
    ("```\nbilling\n```", "billing"),
    ('"billing".', "billing"),
    ("TECH!", "tech"),
    ("`tech`", "tech"),
    ("# Billing", "billing"),
    ("“billing”", "billing"),
    ("技术", None),
]
KNOWN = [pair for pair in NOISY if pair[1]]


class Route(BaseModel):
    route: str


class Strict(BaseModel):
    route: Literal["billing", "tech"]
    why: str = ""


classify = WorkflowUnit("classify", prompt="Which desk?")
handlers = {
    "billing": WorkflowUnit("billing", answer="text"),
    "tech": WorkflowUnit("tech", answer="text"),
}


def desk(said, router=classify, handled=1, **options):
    """A router that says `said`, and the model with a script for every handler."""
    script = {"classify": said, "billing": [text("Paid.")], "tech": [text("Fixed.")]}
    wanted = options.pop("to", None)
    model = scripted({unit: steps for unit, steps in script.items() if unit in ("classify", wanted)})
    return Workflow(RouterFlow(router, handlers, **options), model=model), model


@pytest.mark.parametrize(("said", "label"), KNOWN)
async def test_f07_a_noisy_text_reply_names_its_handler(said, label):
    workflow, model = desk([text(said)], to=label)
    result = await workflow.run("Help.")
    assert result.completed_units == ("classify", label)
    assert len(model.requests) == 2


@pytest.mark.parametrize(("said", "label"), KNOWN)
async def test_f07_a_noisy_resolve_names_its_handler(said, label):
    workflow, _ = desk([call("resolve", value=said)], to=label)
    result = await workflow.run("Help.")
    assert result.completed_units == ("classify", label)
    assert result.steps[0].output == label


@pytest.mark.parametrize("schema", [Route, Strict])
@pytest.mark.parametrize(("said", "label"), KNOWN)
async def test_f07_a_noisy_field_of_a_schema_names_its_handler(said, label, schema):
    workflow, _ = desk([call("resolve", route=said)], classify.with_(output=schema), to=label)
    result = await workflow.run("Help.")
    assert result.completed_units == ("classify", label)


@pytest.mark.parametrize(("said", "label"), KNOWN)
async def test_f07_a_router_that_answers_in_text_is_read_alike(said, label):
    workflow, _ = desk([text(said)], classify.with_(answer="text"), to=label)
    assert (await workflow.run("Help.")).completed_units == ("classify", label)


async def test_f07_an_unknown_label_as_a_call_is_asked_again_then_fails():
    workflow, model = desk([call("resolve", value="refunds")] * 3)
    error = await failure(workflow, "Help.")
    assert error.reason == "unknown-route"
    assert all(word in str(error) for word in ("refunds", "billing", "tech"))
    assert [step.unit for step in error.result.steps] == ["classify"]
    assert len(model.requests) == 3
    assert "billing" in answers(model.requests[1])[0].content


async def test_f07_an_unknown_label_as_text_is_asked_again_then_fails():
    workflow, _ = desk([text("refunds")] * 3)
    error = await failure(workflow, "Help.")
    assert error.reason == "unknown-route"
    assert all(word in str(error) for word in ("refunds", "billing", "tech"))
    assert error.result.completed_units == ()


@pytest.mark.parametrize("first", [text("refunds"), call("resolve", value="refunds")])
async def test_f07_asked_again_the_router_may_mend_its_label(first):
    workflow, _ = desk([first, call("resolve", value="tech")], to="tech")
    assert (await workflow.run("Help.")).completed_units == ("classify", "tech")


@pytest.mark.parametrize(
    "said", [text("refunds"), call("resolve", value="refunds"), call("resolve", value="技术")]
)
async def test_f07_an_unknown_label_goes_to_the_default_at_once(said):
    workflow, model = desk([said], default="billing", to="billing")
    result = await workflow.run("Help.")
    assert result.completed_units == ("classify", "billing")
    assert len(model.requests) == 2


@pytest.mark.parametrize("schema", [Route, Strict])
async def test_f07_an_unknown_label_in_a_field_goes_to_the_default(schema):
    workflow, model = desk(
        [call("resolve", route="refunds")], classify.with_(output=schema), default="tech", to="tech"
    )
    result = await workflow.run("Help.")
    assert result.completed_units == ("classify", "tech")
    assert len(model.requests) == 2


@pytest.mark.parametrize("schema", [Route, Strict])
async def test_f07_an_unknown_label_in_a_field_fails_without_a_default(schema):
    script = [call("resolve", route="refunds")] * 3
    workflow, _ = desk(script, classify.with_(output=schema))
    error = await failure(workflow, "Help.")
    assert error.reason == "unknown-route"
    assert all(word in str(error) for word in ("refunds", "billing", "tech"))
    assert error.result.completed_units == ()


async def test_f07_an_unknown_text_label_of_a_text_router_fails_and_names_the_labels():
    workflow, _ = desk([text("refunds")] * 3, classify.with_(answer="text"))
    error = await failure(workflow, "Help.")
    assert error.reason == "unknown-route"
    assert all(word in str(error) for word in ("refunds", "billing", "tech"))
    assert [step.unit for step in error.result.steps] == ["classify"]

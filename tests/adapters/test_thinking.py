"""Thinking levels, as each provider calls them."""

from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from plait import DefinitionError, Workflow, WorkflowUnit
from plait.adapters.models import resolve_model
from plait.adapters.thinking import LEVELS, with_thinking_level
from plait.testing import ScriptedModel


class ChatAnthropic(BaseModel):
    thinking: dict[str, Any] | None = None
    max_tokens: int | None = 1024


class ChatGoogleGenerativeAI(BaseModel):
    thinking_budget: int | None = None


class ChatOllama(BaseModel):
    reasoning: bool | None = None


@pytest.mark.parametrize("level", LEVELS)
def test_openai_calls_it_reasoning_effort(level):
    model = with_thinking_level(ChatOpenAI(model="m", api_key="k"), level)
    assert model.reasoning_effort == ("none" if level == "off" else level)


def test_the_model_itself_is_not_changed():
    model = ChatOpenAI(model="m", api_key="k")
    assert resolve_model(model, "high").reasoning_effort == "high"
    assert model.reasoning_effort is None
    assert resolve_model(model) is model


def test_anthropic_gets_a_budget_beside_the_tokens_of_the_answer():
    model = with_thinking_level(ChatAnthropic(), "high")
    assert model.thinking == {"type": "enabled", "budget_tokens": 16_384}
    assert model.max_tokens == 1024 + 16_384
    assert with_thinking_level(ChatAnthropic(), "off").thinking == {"type": "disabled"}
    assert with_thinking_level(ChatAnthropic(), "off").max_tokens == 1024


def test_others_get_a_budget_or_a_switch():
    assert with_thinking_level(ChatGoogleGenerativeAI(), "low").thinking_budget == 2048
    assert with_thinking_level(ChatGoogleGenerativeAI(), "off").thinking_budget == 0
    assert with_thinking_level(ChatOllama(), "low").reasoning is True
    assert with_thinking_level(ChatOllama(), "off").reasoning is False


def test_a_model_without_levels_is_refused():
    with pytest.raises(DefinitionError, match="ScriptedModel has no thinking level 'high'"):
        Workflow(WorkflowUnit("work", thinking_level="high"), model=ScriptedModel([]))


def test_an_unknown_level_is_refused_with_the_levels():
    with pytest.raises(DefinitionError, match="off, minimal, low"):
        with_thinking_level(ChatOpenAI(model="m", api_key="k"), "huge")

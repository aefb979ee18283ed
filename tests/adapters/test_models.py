"""Models by name, and what is said when one cannot be had."""

import sys
import tomllib
from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI

from plait import DefinitionError, MissingExtra, Workflow, WorkflowUnit
from plait.adapters.models import CLASSES, model_from_env, resolve_model
from plait.testing import ScriptedModel


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def test_a_name_loads_the_provider_s_class():
    model = resolve_model("openai:gpt-5-mini")
    assert isinstance(model, ChatOpenAI)
    assert model.model_name == "gpt-5-mini"


def test_a_name_may_hold_colons_of_its_own():
    assert resolve_model("openai:ft:gpt:me:1").model_name == "ft:gpt:me:1"


def test_a_model_stays_as_it_is():
    model = ScriptedModel([])
    assert resolve_model(model) is model
    assert resolve_model(None) is None


@pytest.mark.parametrize("name", ["gpt-5-mini", "nobody:gpt", "openai:", ":gpt", ""])
def test_a_name_without_a_known_provider_is_refused_with_the_providers(name):
    with pytest.raises(DefinitionError, match=r"anthropic.*openai"):
        resolve_model(name)


@pytest.mark.parametrize("provider", sorted(set(CLASSES) - {"openai", "azure_openai"}))
def test_a_package_that_is_missing_is_named_with_its_extra(provider, monkeypatch):
    package, _ = CLASSES[provider]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra) as raised:
        resolve_model(f"{provider}:m")
    assert package in str(raised.value)
    assert f"plait[{provider}]" in str(raised.value)


def test_every_provider_has_its_extra():
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = settings["project"]["optional-dependencies"]
    core = settings["project"]["dependencies"]
    for provider, (package, _) in CLASSES.items():
        wanted = package.replace("_", "-")
        assert any(wanted in needed for needed in (*extras.get(provider, ()), *core)), provider


def test_a_model_that_cannot_be_made_is_a_fault_of_the_definition(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(DefinitionError, match=r"openai:gpt-5-mini.*cannot be made"):
        Workflow(WorkflowUnit("work"), model="openai:gpt-5-mini")


def test_the_environment_names_a_model(monkeypatch):
    monkeypatch.setenv("OPENAI_MODEL", "mine")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = model_from_env()
    assert model.model_name == "mine"
    assert str(model.root_client.base_url) == "http://127.0.0.1:9/v1/"
    monkeypatch.delenv("OPENAI_MODEL")
    assert model_from_env("other").model_name == "other"


def test_without_a_key_the_environment_names_no_model(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert model_from_env() is None

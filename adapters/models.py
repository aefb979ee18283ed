"""Chat models by name: `"provider:model"` loads `langchain_<provider>` when it is installed."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from ..core.errors import DefinitionError, MissingExtra
from .thinking import with_thinking_level

CLASSES = {
    "openai": ("langchain_openai", "ChatOpenAI"),
    "azure_openai": ("langchain_openai", "AzureChatOpenAI"),
    "anthropic": ("langchain_anthropic", "ChatAnthropic"),
    "google_genai": ("langchain_google_genai", "ChatGoogleGenerativeAI"),
    "google_vertexai": ("langchain_google_vertexai", "ChatVertexAI"),
    "mistralai": ("langchain_mistralai", "ChatMistralAI"),
    "ollama": ("langchain_ollama", "ChatOllama"),
    "groq": ("langchain_groq", "ChatGroq"),
    "deepseek": ("langchain_deepseek", "ChatDeepSeek"),
    "xai": ("langchain_xai", "ChatXAI"),
    "bedrock_converse": ("langchain_aws", "ChatBedrockConverse"),
}


def resolve_model(model: Any, level: str | None = None) -> Any:
    """A chat model for `"provider:model"`; a model instance as it is; thinking at `level` if given.

    Raises DefinitionError for a name without a known provider, for a model that cannot be made, as
    without its key, and for a level that it does not have; MissingExtra when the provider's package
    is not installed.
    """
    made = _loaded(model) if isinstance(model, str) else model
    return made if level is None else with_thinking_level(made, level)


def _loaded(model: str) -> Any:
    provider, colon, name = model.partition(":")
    if not colon or not name or provider not in CLASSES:
        known = ", ".join(sorted(CLASSES))
        raise DefinitionError(f"model {model!r} is not 'provider:model' with a known provider ({known})")
    package, class_name = CLASSES[provider]
    try:
        module = import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtra(package, provider) from error
    try:
        made: Any = getattr(module, class_name)(model=name)
    except Exception as error:  # each client has its own errors for a missing key and the like
        raise DefinitionError(f"model {model!r} cannot be made: {error}") from error
    return made


def model_from_env(default: str = "gpt-5-mini") -> Any | None:
    """The model that OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL describe; None without a key."""
    if not os.environ.get("OPENAI_API_KEY"):
        return None
    return resolve_model(f"openai:{os.environ.get('OPENAI_MODEL') or default}")

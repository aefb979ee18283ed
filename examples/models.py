"""The model an example runs on: a real one when a key is set, else rules that need none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.adapters.models import model_from_env

NO_KEY = "No OPENAI_API_KEY: running on the embedded scripted model, which reads by fixed rules."


def chosen_model(scripted: Callable[[], Any]) -> tuple[Any, str]:
    """The model that OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL describe, or the scripted one.

    Beside it the line that says which.
    """
    model = model_from_env()
    if model is None:
        return scripted(), NO_KEY
    return model, f"Running on {model.model_name}."

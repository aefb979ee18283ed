"""Salvage: when a limit ends a unit, one last request for what is known so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from ..core.codec import encode
from ..core.errors import ValueRefused
from ..core.stored import Types
from ..core.usage import Usage
from .answers import parse_json_text
from .history import message_text
from .model import ModelCall, ModelFailure, usage_of
from .schema import InvalidOutput, output_schema
from .unit import WorkflowUnit
from .unitstate import Ending


async def salvaged(
    unit: WorkflowUnit[Any],
    types: Types,
    ending: Ending,
    call: ModelCall,
    sent: Sequence[BaseMessage],
    config: RunnableConfig,
) -> tuple[Ending, Usage]:
    """`ending` as `partial` with a value of the unit's salvage type, or unchanged when there is none."""
    schema = output_schema(unit.salvage)
    wanted = json.dumps(schema.parameters(), ensure_ascii=False)
    asked = HumanMessage(
        f"There is no time left and no tool can be called. Write what is known so far as one JSON object "
        f"of this schema, and nothing else:\n{wanted}",
        additional_kwargs={"plait": "reminder"},
    )
    request = [*sent, asked]
    try:
        reply = await call(request, config, None)
    except ModelFailure:
        return ending, Usage(model_calls=1)
    for candidate in parse_json_text(message_text(reply)):
        try:
            value = encode(schema.validate(candidate), "salvage", types)
        except (InvalidOutput, ValueRefused, TypeError):
            continue
        return Ending("partial", "limit", ending.message, ending.text, True, value), usage_of(reply, request)
    return ending, usage_of(reply, request)

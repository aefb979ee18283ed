"""Prompts that adapters add to."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage

from ..core.snapshot import Snapshot
from ..nodes.request import opening, request
from ..nodes.unit import Prompt, WorkflowUnit


def extended(prompt: Prompt, addition: str) -> Prompt:
    """`prompt` with `addition` below it; a prompt function stays one."""
    if isinstance(prompt, str):
        return f"{prompt}\n\n{addition}" if prompt else addition

    def made(snapshot: Snapshot) -> str:
        return f"{prompt(snapshot)}\n\n{addition}"

    return made


def asked(unit: WorkflowUnit[Any], snapshot: Snapshot) -> list[BaseMessage]:
    """What a unit is asked, as messages: its prompt, the conversation if it sees it, and the task."""
    return request(unit, snapshot, opening(unit, snapshot))

"""Prompts that adapters add to."""

from __future__ import annotations

from ..core.snapshot import Snapshot
from ..nodes.unit import Prompt


def extended(prompt: Prompt, addition: str) -> Prompt:
    """`prompt` with `addition` below it; a prompt function stays one."""
    if isinstance(prompt, str):
        return f"{prompt}\n\n{addition}" if prompt else addition

    def made(snapshot: Snapshot) -> str:
        return f"{prompt(snapshot)}\n\n{addition}"

    return made


def told(prompt: Prompt, snapshot: Snapshot) -> str:
    """The prompt's text for one run."""
    return prompt if isinstance(prompt, str) else prompt(snapshot)

"""A router's label, however the model wrote it: spaces, capitals, markdown, quotes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .answers import match_label, parse_json_text


@dataclass(frozen=True)
class Labels:
    """The labels a router may give and the argument of `resolve` that holds the label.

    `default` stands for every label that is not among them; None lets them be asked again.
    """

    names: tuple[str, ...]
    key: str
    default: str | None = None
    from_text: bool = False

    def arguments(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """`args` with the label in its declared spelling where it can be recognised."""
        given = args.get(self.key)
        if not isinstance(given, str):
            return dict(args)
        found = match_label(given, self.names) or self.default
        return {**args, self.key: found} if found else dict(args)

    def fault(self, args: Mapping[str, Any]) -> str | None:
        """What is wrong with the label in `args`, or None; a label that is no text is the schema's affair."""
        given = args.get(self.key)
        if not isinstance(given, str) or given in self.names:
            return None
        return f"{self.key}: {given!r} is none of: {', '.join(self.names)}"

    def text(self, text: str) -> dict[str, Any] | None:
        """The arguments that a plain reply stands for, or None when it names no label."""
        if not self.from_text:
            return None
        candidates = [text, *(c for c in parse_json_text(text) if isinstance(c, str))]
        found = next((label for c in candidates if (label := match_label(c, self.names))), self.default)
        return {self.key: found} if found else None

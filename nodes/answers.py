"""Reading an answer out of plain text: JSON beside prose and thinking, and labels under decoration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

_TOKEN = re.compile(r"<(?P<end>/?)think(?:ing)?>|[{\[]", re.IGNORECASE)
_BROKEN = re.compile(r'\{\s*["}]|\[\s*[{\["]')
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[{\[]|[}\]]|</?think(?:ing)?>', re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"(?:```|~~~)(?:[\w+.-]*[ \t]*\r?\n)?(.*?)\s*(?:```|~~~)", re.DOTALL)
_DECORATION = " \t\r\n*_#`\"'“”„‟‘’‚‛«»‹›「」『』"
_PUNCTUATION = ".,;:!?…。，、；：！？"


def parse_json_text(text: str) -> list[Any]:
    """The JSON values that `text` holds outside thinking blocks, in order.

    Objects and arrays count wherever they stand, also in fences and prose; a bare string, number or constant
    only when it is the whole answer. A thinking block without an end means that no answer was reached.
    """
    values, rest = _scanned(text)
    if values:
        return values
    try:
        return [json.loads(_unfenced(rest), strict=False, parse_constant=_refused)]
    except (ValueError, RecursionError):
        return []


def without_thinking(text: str) -> str:
    """`text` without its thinking blocks; tags inside JSON strings stay. Empty if a block has no end."""
    return _scanned(text)[1]


def normalise_label(text: str) -> str:
    """`text` without fence, markdown, quotes and closing punctuation, case folded."""
    bare = _unfenced(text)
    while (barer := bare.strip(_DECORATION).rstrip(_PUNCTUATION)) != bare:
        bare = barer
    return bare.casefold()


def match_label(text: str, labels: Iterable[str]) -> str | None:
    """The one label that `text` means: exactly, under decoration, or as the value of a JSON object.

    Labels that differ only in what `normalise_label` takes away are matched exactly or not at all.
    """
    known = tuple(dict.fromkeys(labels))
    values, answer = _scanned(text)
    for said in (text, answer.strip()):
        if said in known:
            return said
    found = _alike(answer, known)
    if found is not None:
        return found
    named = {match_label(label, known) for value in values if (label := _label_in(value)) is not None}
    return named.pop() if len(named) == 1 else None


def _alike(said: str, labels: Iterable[str]) -> str | None:
    wanted = normalise_label(said)
    alike = [label for label in labels if normalise_label(label) == wanted]
    return alike[0] if wanted and len(alike) == 1 else None


def _label_in(value: Any) -> str | None:
    """The text under `route`, or under the only key there is."""
    if not isinstance(value, dict):
        return None
    said = value.get("route", next(iter(value.values())) if len(value) == 1 else None)
    return said if isinstance(said, str) else None


def _scanned(text: str) -> tuple[list[Any], str]:
    """The JSON values outside thinking blocks, and the text outside them.

    A closing tag alone ends a block that the prompt had opened: what stands before it was thinking too.
    """
    values: list[Any] = []
    kept: list[str] = []
    start = at = 0
    while token := _TOKEN.search(text, at):
        if token["end"] is None:
            at = _json_end(text, token.start(), values)
            continue
        if token["end"]:
            values.clear()
            kept.clear()
            start = at = token.end()
            continue
        end = re.compile(r"</think(?:ing)?>", re.IGNORECASE).search(text, token.end())
        if end is None:
            return [], ""
        kept.append(text[start : token.start()])
        start = at = end.end()
    return values, "".join([*kept, text[start:]])


def _json_end(text: str, at: int, values: list[Any]) -> int:
    """Where to look on after the bracket at `at`; a value that begins there is added to `values`."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _bracket_end(text, at) if _BROKEN.match(text, at) else at + 1
    values.append(value)
    return end


def _bracket_end(text: str, at: int) -> int:
    """The end of broken JSON, whose inner parts are no answers of their own."""
    depth = 0
    for token in _BRACKET.finditer(text, at):
        if token[0].startswith("<"):
            return token.start()
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _unfenced(text: str) -> str:
    stripped = text.strip()
    fenced = _FENCED.fullmatch(stripped)
    return fenced[1].strip() if fenced else stripped


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refused)

"""What a tool returned, as message content: made, cleaned, and capped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .jsonable import Unshowable, json_text, to_json_data
from .plain import clean_text, plain

__all__ = [
    "NO_OUTPUT",
    "Content",
    "Unshowable",
    "block_text",
    "cap",
    "clean_content",
    "clean_text",
    "to_content",
]

Content: TypeAlias = str | list[str | dict[Any, Any]]
"""Message content as LangChain types it."""

NO_OUTPUT = "(no output)"

_TEXT_KINDS = frozenset({"text", "input_text", "output_text"})
_TEXT_KEYS = frozenset(
    {"type", "text", "id", "index", "annotations", "citations", "cache_control", "extras", "meta", "_meta"}
)
_ABOUT_DATA = frozenset(
    {"type", "id", "index", "source_type", "mime_type", "media_type", "filename", "detail", "cache_control"}
    | {"citations", "metadata", "extras"}
)
_ABOUT_DOCUMENTS = _ABOUT_DATA | {"title", "context"}
_DATA = {"url", "base64", "data", "file_id", "source"}
_PAYLOADS = {
    "image": _DATA,
    "image_url": {"image_url"},
    "input_image": {"image_url", "file_id"},
    "audio": _DATA,
    "input_audio": {"input_audio"},
    "video": _DATA,
    "file": _DATA | {"file"},
    "input_file": {"file_id", "file_data", "file_url"},
    "document": {"source"},
    "text-plain": {"text", "url", "base64", "file_id"},
}


def to_content(value: Any, tool_name: str) -> Content:
    """A tool's return value as message content: text and content blocks as they are, the rest as JSON text.

    Raises `Unshowable`, naming tool and type, for what has no readable form. Clean and cap the result.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if value is None:
        return NO_OUTPUT
    if _is_blocks(value):
        return [{"type": "text", "text": item} if isinstance(item, str) else dict(item) for item in value]
    data = to_json_data(value, tool_name)
    return data if isinstance(data, str) else json_text(data)


def clean_content(content: Content) -> tuple[Content, bool]:
    """Content whose text has no broken surrogates, and whether any text had to be mended."""
    if isinstance(content, str):
        return clean_text(content)
    copy = plain(content)
    return copy.value, copy.repaired


def cap(content: Content, limit: int) -> tuple[Content, str | None]:
    """Content of at most `limit` + 300 characters of text, and the full text when something was cut.

    Head and tail stay; the place of the cut says so and names the original length. Text blocks share the
    limit as if they were one text; blocks without text stay.
    """
    if isinstance(content, str):
        return _capped_text(content, limit)
    texts = [block_text(block) for block in content]
    full = "".join(text for text in texts if text)
    if len(full) <= limit:
        return content, None
    return _capped_blocks(content, texts, len(full), limit), full


def block_text(block: Any) -> str | None:
    """The text of one piece of content; None for images, reasoning, calls and the like."""
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type") in _TEXT_KINDS and isinstance(block.get("text"), str):
        return str(block["text"])
    return None


def _is_blocks(value: Any) -> bool:
    """Whether a value is a list of content blocks, and not rows of data that happen to have a `type`."""
    if not isinstance(value, list) or not any(isinstance(item, dict) for item in value):
        return False
    return all(isinstance(item, str) or _is_block(item) for item in value) and not plain(value).faults


def _is_block(item: Any) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        return False
    if item["type"] in _TEXT_KINDS:
        return isinstance(item.get("text"), str) and item.keys() <= _TEXT_KEYS
    payload = _PAYLOADS.get(item["type"])
    about = _ABOUT_DOCUMENTS if item["type"] in {"document", "text-plain"} else _ABOUT_DATA
    return payload is not None and bool(payload & item.keys()) and item.keys() <= about | payload


def _edges(limit: int) -> tuple[int, int]:
    """How many characters stay at the start and at the end."""
    room = max(limit, 0)
    return room - room // 2, room // 2


def _note(total: int, kept: int) -> str:
    return f"\n[... cut here: {total} characters in all, {total - kept} of them left out ...]\n"


def _capped_text(text: str, limit: int) -> tuple[str, str | None]:
    if len(text) <= limit:
        return text, None
    head, tail = _edges(limit)
    return text[:head] + _note(len(text), head + tail) + text[len(text) - tail :], text


def _capped_blocks(blocks: list[Any], texts: Sequence[str | None], total: int, limit: int) -> Content:
    head, tail = _edges(limit)
    kept: list[Any] = []
    start = 0
    for block, text in zip(blocks, texts, strict=True):
        if text is None:
            kept.append(block)
            continue
        end = start + len(text)
        note = _note(total, head + tail) if start <= head < end else ""
        piece = text[: max(head - start, 0)] + note + text[max(total - tail - start, 0) :]
        if piece:
            kept.append(piece if isinstance(block, str) else {**block, "text": piece})
        start = end
    return kept

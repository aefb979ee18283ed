"""Call blocks in content: some providers write each call there too, and both must agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import ToolCall

from .content import block_text

_CALL_KINDS = frozenset(
    {"tool_use", "function_call", "custom_tool_call", "tool_call", "tool_call_chunk", "invalid_tool_call"}
)


def call_block_ids(content: Any) -> list[str]:
    """The call ids of the call blocks in content, in order; "" for a block without one."""
    return [_id(block) for block in _blocks(content) if _is_call(block)]


def call_places(content: Any, given_ids: Sequence[str]) -> list[int]:
    """Where the content holds each call; the same place for all when it does not hold every one."""
    places = {index: place for place, index in _paired(_blocks(content), given_ids).items()}
    return [places[index] if len(places) == len(given_ids) else 0 for index in range(len(given_ids))]


def settled(blocks: Sequence[Any], given_ids: Sequence[str], calls: Sequence[ToolCall]) -> list[Any]:
    """The blocks, with each call block saying what its call says, and without blank text.

    `given_ids` are the ids the model gave the calls. Blocks find their call by an id that one call has, the
    rest by order; a call block without a call is dropped, since nobody would answer it.
    """
    pairs = _paired(blocks, given_ids)
    kept: list[Any] = []
    for place, block in enumerate(blocks):
        if place in pairs:
            kept.append(_rewritten(block, calls[pairs[place]]))
        elif not _is_call(block) and _has_content(block):
            kept.append(block)
    return kept


def _paired(blocks: Sequence[Any], given_ids: Sequence[str]) -> dict[int, int]:
    """Place of each call block -> index of its call."""
    places = [place for place, block in enumerate(blocks) if _is_call(block) and _is_named(block)]
    block_ids = [_id(blocks[place]) for place in places]
    telling = {i for i in given_ids if i and given_ids.count(i) == 1 and block_ids.count(i) == 1}
    pairs = {place: given_ids.index(i) for place, i in zip(places, block_ids, strict=True) if i in telling}
    free = [index for index, call_id in enumerate(given_ids) if call_id not in telling]
    pairs.update(zip([place for place in places if place not in pairs], free, strict=False))
    return pairs


def _rewritten(block: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    name, args, call_id = call["name"], call["args"], call["id"]
    match block["type"]:
        case "tool_use":
            same = {key: value for key, value in block.items() if key != "partial_json"}
            return {**same, "id": call_id, "name": name, "input": args}
        case "function_call":
            return {**block, _id_key(block): call_id, "name": name, "arguments": _json_of(block, args)}
        case "custom_tool_call":
            return {**block, _id_key(block): call_id}
    extra: dict[str, Any] = {key: block[key] for key in ("index", "extras") if key in block}
    return {"type": "tool_call", "id": call_id, "name": name, "args": args, **extra}


def _json_of(block: dict[str, Any], args: dict[str, Any]) -> str:
    """The arguments as the provider wrote them when they are still true, else written anew."""
    text = block.get("arguments")
    return text if isinstance(text, str) and _says(text, args) else json.dumps(args, ensure_ascii=False)


def _says(text: str, args: dict[str, Any]) -> bool:
    try:
        return bool(json.loads(text) == args)
    except (ValueError, RecursionError):
        return False


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _CALL_KINDS


def _is_named(block: dict[str, Any]) -> bool:
    return bool(str(block.get("name") or "").strip())


def _id_key(block: dict[str, Any]) -> str:
    return "call_id" if "call_id" in block else "id"


def _id(block: dict[str, Any]) -> str:
    value = block.get(_id_key(block))
    return "" if value is None else str(value)


def _has_content(block: Any) -> bool:
    text = block_text(block)
    return isinstance(block, dict) if text is None else bool(text.strip())

"""What of a reply can be read while it is written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk

from plait.nodes.shown import Shown, TextField


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('{"value": "abc"}', "abc"),
        ('{"other": {"value": "no"}, "list": ["value", 1], "value" : "yes", "value": "again"}', "yes"),
        (r'{"value": "\ud83d\ude00 \ud83d x \\u00e9 \u00e9 \""}', '😀 \ufffd x \\u00e9 é "'),
        ('{"value": 7, "not": "value"}', ""),
        ('["value", "x"]', ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_text_field_is_read_from_any_pieces(raw, text, size):
    field = TextField("value")
    assert "".join(field.feed(raw[at : at + size]) for at in range(0, len(raw), size)) == text


def test_pieces_without_an_index_belong_to_the_call_before_them():
    def piece(**given: Any) -> AIMessageChunk:
        made = {"name": None, "args": None, "id": None, "index": None, **given}
        return AIMessageChunk("", tool_call_chunks=[made])

    pieces = [
        piece(name="look", args='{"value": "x"}'),
        piece(name="resolve", args='{"val'),
        piece(args='ue": "y"}'),
    ]
    shown = Shown("value")
    assert "".join(map(shown.feed, pieces)) == "y"


@given(st.text(), st.booleans(), st.integers(1, 9))
def test_every_text_comes_out_as_it_went_in(text, is_ascii, size):
    raw = json.dumps({"first": [text], "value": text}, ensure_ascii=is_ascii)
    field = TextField("value")
    assert "".join(field.feed(raw[at : at + size]) for at in range(0, len(raw), size)) == text


def test_a_whole_message_is_one_piece():
    calls = [{"name": "resolve", "args": {"value": "y"}, "id": "1", "type": "tool_call"}]
    assert Shown("value").feed(AIMessage("x", tool_calls=calls)) == "x\n\ny"


def test_only_the_first_resolve_is_shown():
    def piece(number: int, args: str) -> AIMessageChunk:
        made = {"name": "resolve", "args": args, "id": str(number), "index": number}
        return AIMessageChunk("", tool_call_chunks=[made])

    shown = Shown("value")
    assert shown.feed(piece(0, '{"value": "a"}')) + shown.feed(piece(1, '{"value": "b"}')) == "a"

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.nodes.answers import match_label, normalise_label, parse_json_text, without_thinking

THOUGHT = '<think>maybe {"route":"sales"}… no</think> {"route":"billing"}'
MENTION = '{"route":"billing","why":"tag <think> seen"}'


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (THOUGHT, [{"route": "billing"}]),
        (MENTION, [{"route": "billing", "why": "tag <think> seen"}]),
        ('{"why":"</think>"}', [{"why": "</think>"}]),
        ('<think>maybe {"route":"sales"}', []),
        ('{"route":"billing"} <think>or', []),
        ('so {"route":"sales"}?</think>{"route":"billing"}', [{"route": "billing"}]),
        ('so {"route": </think>{"route":"billing"}', [{"route": "billing"}]),
        ("<THINK>[1]</THINK>[2]<thinking>[3]</thinking>[4]", [[2], [4]]),
        ('Sure!\n```json\n{"a": [1]}\n```\nDone.', [{"a": [1]}]),
        ('one {"a": 1} and {"b": 2}', [{"a": 1}, {"b": 2}]),
        ('use {name} as in {"a": 1}', [{"a": 1}]),
        ('{"a": "line\nbreak"}', [{"a": "line\nbreak"}]),
        ('{"a": {"b": 1}', []),
        ('{"a": 1, "b": {"c": 2},} {"d": 3}', [{"d": 3}]),
        ('[{"a": 1}, {"a":', []),
        ('{"a": NaN}', []),
        ("```\n42\n```", [42]),
        ('"billing"', ["billing"]),
        ("null", [None]),
        ("I have 3 of them", []),
        ("", []),
        ("[" * 100_000, []),
        ('{"a":' * 100_000, []),
        ("{ " * 1000 + '{"a": 1}', [{"a": 1}]),
    ],
)
def test_json_is_found_outside_thinking(text: str, values: list[Any]) -> None:
    assert parse_json_text(text) == values


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>hm</think> yes", " yes"),
        ("a<think>hm</think>b<think>hm</think>c", "abc"),
        ("hm</think>yes", "yes"),
        ("<think>hm", ""),
        (MENTION, MENTION),
        ("plain", "plain"),
    ],
)
def test_thinking_is_taken_out_of_text(text: str, rest: str) -> None:
    assert without_thinking(text) == rest


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (" Billing\n", "billing"),
        ("**tech**", "tech"),
        ("```\nbilling\n```", "billing"),
        ("```text\nbilling```", "billing"),
        ("```billing```", "billing"),
        ('"billing".', "billing"),
        ("# __“Tech”__!", "tech"),
        ("`tech_support`", "tech_support"),
        ("「技术」。", "技术"),
        ("***", ""),
    ],
)
def test_a_label_is_freed_of_its_decoration(text: str, label: str) -> None:
    assert normalise_label(text) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (" Billing\n", "billing"),
        ("**tech**", "tech"),
        ("```\nbilling\n```", "billing"),
        ('"billing".', "billing"),
        ("refunds", None),
        ("billing or tech", None),
        ("", None),
        (THOUGHT, "billing"),
        (MENTION, "billing"),
        ("<think>sales</think> tech", "tech"),
        ("<think>billing", None),
        ('{"label": "Tech"}', "tech"),
        ('Here: {"route": "**tech**"}', "tech"),
        ('{"a": "tech", "b": "billing"}', None),
        ('{"route": "tech"} {"route": "billing"}', None),
        ('{"route": 1}', None),
    ],
)
def test_a_label_is_recognised_or_there_is_none(text: str, label: str | None) -> None:
    assert match_label(text, ["billing", "tech", "sales"]) == label


@pytest.mark.parametrize(
    ("text", "label"), [("C#", "C#"), (" C ", "C"), ("c", None), ("**C#**", None), ("Go", "go")]
)
def test_labels_that_look_alike_are_matched_exactly_or_not_at_all(text: str, label: str | None) -> None:
    assert match_label(text, ["C", "C#", "go"]) == label


@settings(deadline=None)
@given(st.text(alphabet='{}[]":,a1 \\`<>/think\n'))
def test_any_text_can_be_read(text: str) -> None:
    parse_json_text(text)
    normalise_label(text)
    assert match_label(text, ["a"]) in (None, "a")

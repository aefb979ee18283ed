"""What models may reply, from the well-behaved to the absurd."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from plait.testing import call, fail, reply, text


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = {"in": value} if levels % 2 else [value]
    return value


class Said:
    """One reply of a script, with a text form that stays short and flat for Hypothesis to print."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def __repr__(self) -> str:
        try:
            return f"Said({self.reply!r:.400})"
        except RecursionError:
            return "Said(something deep)"


ODD_TEXTS = [
    "\ud800",
    "a\udfffb",
    "\ud83d\ude00",
    "\x00",
    "\u202e",
    "e\u0301" * 20,
    "\U0001f468\u200d\U0001f469",
    "\ufeff",
    "午饭",
]
texts = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.text(st.characters(), max_size=20),
    st.builds("".join, st.lists(st.sampled_from([chr(0xD800), chr(0xDC00), "x", "é"]), max_size=6)),
    st.sampled_from(["x" * 60_000, "{" * 1_000, '{"value": "a"}', "```json\n{}\n```", "resolve(value=1)"]),
)
numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**63, -(2**63) - 1, 2**64, 10**30]),
    st.floats(allow_nan=True, allow_infinity=True),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.one_of(
    st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    ),
    st.sampled_from([deep(63), deep(64), deep(65), deep(500), {"": {}}, [[[]]], "y" * 100_000]),
)
tools = st.sampled_from(
    ["echo", "keep", "fails", "odd", "unknown", "", "resolve ", "RESOLVE", "echo\ud800", "x" * 300]
)
ids = st.sampled_from([None, "", " ", "same", "same", "a/b:answer", "\ud800", "call_u_0_0"])


@st.composite
def calls(draw: st.DrawFn) -> Any:
    name = draw(tools)
    args = draw(st.dictionaries(st.sampled_from(["value", "key", "x", "\udc00"]), values, max_size=3))
    made = call(name, args)
    call_id = draw(ids)
    return made if call_id is None else made.with_id(call_id)


good = st.sampled_from(
    [call("resolve", label="a", count=3), call("resolve", {"label": "b", "count": 2, "ratio": 0.5})]
)
resolves = st.one_of(
    good,
    st.builds(
        lambda args: call("resolve", args),
        st.dictionaries(st.sampled_from(["label", "count", "ratio", "rest"]), values, max_size=4),
    ),
)


@st.composite
def unparsable(draw: st.DrawFn) -> AIMessage:
    """A call whose arguments are no JSON, as a provider's integration hands it over."""
    call_id = draw(ids)
    broken = {
        "name": draw(tools),
        "args": draw(texts),
        "id": call_id,
        "error": "bad",
        "type": "invalid_tool_call",
    }
    return AIMessage(draw(texts), invalid_tool_calls=[broken])


plain = st.builds(text, texts, finish=st.sampled_from(["stop", "length", None, "content_filter", "odd"]))
several = st.builds(
    lambda said, made, finish: reply(said, *made, finish=finish),
    texts,
    st.lists(st.one_of(calls(), resolves), min_size=1, max_size=4),
    st.sampled_from(["tool_calls", "stop", "length", None]),
)
blank = st.sampled_from([text(""), text("  \n"), text("", usage=None)])
failures = st.sampled_from(
    [
        ValueError("bad"),
        TimeoutError("slow"),
        ConnectionError("\ud800"),
        KeyError("x"),
        RecursionError("deep"),
    ]
).map(fail)


@st.composite
def replies(draw: st.DrawFn) -> Said:
    return Said(draw(st.one_of(plain, blank, calls(), resolves, several, unparsable(), failures)))

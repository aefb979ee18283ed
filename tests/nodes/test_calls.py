"""A model's reply, normalised: its ids, its arguments, its content, and how it ended."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from plait.nodes.calls import TEXT_LIMIT, lift_text_calls, normalise_reply, spoken, stop_reason
from plait.nodes.history import history_faults

STRICT = JsonPlusSerializer(allowed_msgpack_modules=None)


def made_id(index):
    return f"new_{index}"


def read(message, taken=(), streamed=False):
    return normalise_reply(message, taken=taken, new_id=made_id, streamed=streamed)


def call(name="look", args=None, call_id="c1"):
    return {"name": name, "args": {} if args is None else args, "id": call_id}


def reply(*calls, invalid=(), content="", **fields):
    return AIMessage(content, tool_calls=list(calls), invalid_tool_calls=list(invalid), **fields)


def piece(name=None, args=None, call_id=None, index=None):
    return {"name": name, "args": args, "id": call_id, "index": index, "type": "tool_call_chunk"}


def chunk(*pieces, content="", **metadata):
    return AIMessageChunk(content, tool_call_chunks=list(pieces), response_metadata=metadata)


def sent_ids(answer):
    return [one["id"] for one in answer.message.tool_calls]


def test_a_good_reply_stays_as_it_is():
    message = reply(call(args={"q": "北京"}), content="Looking.", id="m1")
    answer = read(message)

    assert answer.message == message
    assert answer.message is not message
    assert [(one.id, one.name, one.args, one.error) for one in answer.calls] == [
        ("c1", "look", {"q": "北京"}, None)
    ]
    assert (answer.text, answer.cut, answer.repaired) == ("Looking.", None, False)


@pytest.mark.parametrize(
    ("given_ids", "taken", "ids"),
    [
        (["a", "b"], [], ["a", "b"]),
        (["a", "a"], [], ["a", "new_1"]),
        (["", ""], [], ["new_0", "new_1"]),
        ([None, None], [], ["new_0", "new_1"]),
        ([" ", "b"], [], ["new_0", "b"]),
        (["a", "b"], ["a"], ["new_0", "b"]),
        (["", "new_0"], [], ["new_0_2", "new_0"]),
        ([""], ["new_0", "new_0_2"], ["new_0_3"]),
    ],
)
def test_every_call_gets_an_id_of_its_own_and_fine_ids_stay(given_ids, taken, ids):
    answer = read(reply(*[call(call_id=one) for one in given_ids]), taken=taken)

    assert [one.id for one in answer.calls] == ids
    assert sent_ids(answer) == ids


def test_a_blank_new_id_is_not_used():
    answer = normalise_reply(reply(call(call_id="")), taken=(), new_id=lambda index: "", streamed=False)

    assert sent_ids(answer) == ["call_0"]


def test_arguments_that_are_no_json_go_back_as_an_empty_object():
    broken = {"name": "look", "args": '{"q": "x"', "id": "c1", "error": None}
    answer = read(reply(invalid=[broken]))

    assert answer.message.tool_calls == [{**call(), "type": "tool_call"}]
    assert answer.message.invalid_tool_calls == []
    assert answer.calls[0].error.startswith("arguments were not valid JSON")


@pytest.mark.parametrize("written", ['{"q": "x",}', "{'q': 'x'}", '"{\\"q\\": \\"x\\"}"'])
def test_arguments_that_can_be_mended_make_an_ordinary_call(written):
    answer = read(reply(invalid=[{"name": "look", "args": written, "id": "c1"}]))

    assert answer.message.tool_calls[0]["args"] == answer.calls[0].args == {"q": "x"}
    assert answer.calls[0].error is None
    assert answer.repaired


def deep(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"a": {"b": 2**70}}, "integer beyond 64 bits at a.b"),
        ({"a": math.nan}, "NaN is not JSON at a"),
        (deep(64), "nested deeper than 64"),
        (deep(500), "nested deeper than 64"),
    ],
)
def test_arguments_that_no_checkpoint_holds_make_the_call_invalid(args, error):
    answer = read(reply(call(args=args)))

    assert answer.calls[0].error == error
    assert answer.calls[0].args == answer.message.tool_calls[0]["args"] == {}


def test_valid_calls_come_before_unreadable_ones_when_nothing_tells_their_order():
    broken = {"name": "second", "args": "{", "id": "b"}

    assert [one.name for one in read(reply(call("first"), invalid=[broken])).calls] == ["first", "second"]


def test_content_blocks_tell_the_order_of_calls():
    blocks = [{"type": "tool_use", "id": one, "name": "look", "input": {}} for one in "ba"]
    broken = {"name": "look", "args": "{", "id": "b"}

    assert sent_ids(read(reply(call(call_id="a"), invalid=[broken], content=blocks))) == ["b", "a"]


def test_stream_indexes_tell_the_order_of_calls():
    message = chunk(piece("b", "{}", "b", 2), piece("a", "{", "a", 1))

    assert sent_ids(read(message)) == ["a", "b"]


def test_a_merged_stream_is_read_strictly_and_becomes_an_ordinary_message():
    message = chunk(piece("write", '{"path": "/x", "text": "half', "c1", 0), finish_reason="tool_calls")
    answer = read(message, streamed=True)

    assert message.tool_calls[0]["args"] == {"path": "/x", "text": "half"}
    assert answer.calls[0].error.startswith("arguments were not valid JSON")
    assert type(answer.message) is AIMessage
    assert answer.message.tool_calls[0]["args"] == {}


def test_fragments_without_index_are_a_torn_reply_of_which_nothing_runs():
    message = chunk(piece("get", '{"a":', "c1"), finish_reason="tool_calls") + chunk(piece(args="1}"))
    answer = read(message, streamed=True)

    assert answer.cut == "broken"
    assert [one.error for one in answer.calls] == ["not run, because the reply did not arrive whole"]
    assert sent_ids(answer) == ["c1"]


def test_whole_calls_without_index_stay_two_calls():
    message = chunk(piece("get", '{"a": 1}', "c1")) + chunk(piece("get", '{"a": 2}', "c2"))

    assert [one.args for one in read(message).calls] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    "torn",
    [
        reply(call(""), call("look", call_id="c2")),
        reply(call("look", call_id="c2"), invalid=[{"name": None, "args": "1}", "id": None}]),
    ],
)
def test_a_nameless_call_means_that_the_reply_was_torn(torn):
    answer = read(torn)

    assert answer.cut == "broken"
    assert [(one.id, one.args) for one in answer.calls] == [("c2", {})]
    assert all(one.error for one in answer.calls)


@pytest.mark.parametrize(
    "metadata",
    [
        {"finish_reason": "length"},
        {"finish_reason": "MAX_TOKENS"},
        {"finish_reason": "lengthlength"},
        {"stop_reason": "max_tokens"},
        {"stopReason": "max_tokens"},
        {"done_reason": "length"},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_a_reply_cut_at_the_output_limit_runs_nothing(metadata):
    answer = read(reply(call("write", {"path": "/x"}), response_metadata=metadata))

    assert answer.cut == stop_reason(answer.message) == "length"
    assert answer.calls[0].error == "not run, because the reply was cut at the output limit"


@pytest.mark.parametrize(
    ("metadata", "streamed", "cut"),
    [
        ({"model_provider": "openai"}, True, "broken"),
        ({"model_name": "m"}, True, "broken"),
        ({"model_provider": "openai"}, False, None),
        ({"model_provider": "openai", "finish_reason": "stop"}, True, None),
        ({"model_provider": "openai", "status": "completed"}, True, None),
        ({"model_provider": "ollama", "done": True}, True, None),
        ({}, True, None),
        ({"finish_reason": "error"}, False, "broken"),
        ({"finish_reason": "MALFORMED_FUNCTION_CALL"}, False, "broken"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, False, None),
        ({"finish_reason": "tool_calls"}, True, "broken"),
        ({"finish_reason": "tool_calls"}, False, None),
    ],
)
def test_a_text_that_did_not_arrive_whole_is_broken(metadata, streamed, cut):
    assert read(AIMessage("some text", response_metadata=metadata), streamed=streamed).cut == cut


def test_calls_that_were_announced_and_did_not_come_are_a_broken_reply():
    assert read(AIMessage("", response_metadata={"finish_reason": "tool_calls"})).cut == "broken"


def test_calls_beside_filtered_content_do_not_run():
    answer = read(reply(call(), response_metadata={"finish_reason": "content_filter"}))

    assert answer.cut == "broken"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (AIMessage("x"), "stop"),
        (AIMessage("x", response_metadata={"finish_reason": "stop"}), "stop"),
        (reply(call()), "tool_use"),
        (reply(invalid=[{"name": "look", "args": "{", "id": "c"}]), "tool_use"),
        (AIMessage("x", response_metadata={"finish_reason": "content_filter"}), "error"),
        (AIMessage("x", response_metadata={"stop_reason": "refusal"}), "error"),
        (AIMessage("x", response_metadata={"status": "cancelled"}), "aborted"),
    ],
)
def test_the_stop_reason_is_one_of_five_words(message, reason):
    assert stop_reason(message) == reason


def test_call_blocks_follow_their_calls():
    blocks = [
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}, "partial_json": "{"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 2}},
    ]
    answer = read(reply(call(args={"a": 1}), call(args={"a": 2}), content=blocks))

    assert answer.message.content == [
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
        {"type": "tool_use", "id": "new_1", "name": "look", "input": {"a": 2}},
    ]


def test_call_blocks_of_the_responses_api_keep_their_item_id_and_valid_text():
    blocks = [
        {"type": "function_call", "id": "fc_1", "call_id": "", "name": "look", "arguments": '{"a":1}'},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "look", "arguments": '{"a"'},
    ]
    broken = {"name": "look", "args": '{"a"', "id": "c2"}
    content = read(reply(call(args={"a": 1}, call_id=""), invalid=[broken], content=blocks)).message.content

    assert content == [
        {"type": "function_call", "id": "fc_1", "call_id": "new_0", "name": "look", "arguments": '{"a":1}'},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "look", "arguments": "{}"},
    ]


def test_a_call_block_that_no_call_belongs_to_is_dropped():
    blocks = [{"type": "text", "text": "hi"}, {"type": "tool_call", "id": "z", "name": "look", "args": {}}]

    assert read(AIMessage(content=blocks)).message.content == [{"type": "text", "text": "hi"}]


def test_an_unfinished_call_block_becomes_a_whole_one():
    block = {"type": "tool_call_chunk", "id": "c1", "name": "look", "args": '{"a"', "index": 0}
    answer = read(reply(invalid=[{"name": "look", "args": '{"a"', "id": "c1"}], content=[block]))

    assert answer.message.content == [
        {"type": "tool_call", "id": "c1", "name": "look", "args": {}, "index": 0}
    ]


def test_raw_calls_of_the_provider_are_dropped_and_the_rest_is_kept_plain():
    message = AIMessage(
        "hi",
        id="m1",
        name="bot",
        additional_kwargs={
            "tool_calls": [],
            "function_call": {},
            "reasoning_content": "hm",
            "parsed": object(),
        },
        response_metadata={"finish_reason": "stop", "logprobs": {"x": math.nan}, "raw": b"x"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    kept = read(message).message

    assert kept.additional_kwargs == {"reasoning_content": "hm"}
    assert kept.response_metadata == {"finish_reason": "stop", "logprobs": {}}
    assert (kept.id, kept.name, kept.usage_metadata["total_tokens"]) == ("m1", "bot", 3)


def test_a_name_that_no_provider_accepts_is_made_fit_for_the_way_back():
    answer = read(reply(call("look up!")))

    assert answer.calls[0].name == "look up!"
    assert answer.message.tool_calls[0]["name"].startswith("look_up_")


@pytest.mark.parametrize("blank", ["", " \n", [], [{"type": "text", "text": " "}], ["", " "]])
def test_a_blank_reply_has_no_text(blank):
    answer = read(AIMessage(content=blank))

    assert (answer.text, answer.calls, answer.cut) == ("", (), None)
    assert not answer.message.content


def test_reasoning_is_no_text():
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "yes"}]
    answer = read(AIMessage(content=content))

    assert answer.text == "yes"
    assert answer.message.content == content


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<think>maybe {"route":"sales"}</think> {"route":"billing"}', '{"route":"billing"}'),
        ("<think>and on and on", ""),
        ("\n<THINKING>a</THINKING>\n\nyes", "yes"),
        ('{"route":"billing","why":"tag <think> seen"}', '{"route":"billing","why":"tag <think> seen"}'),
        ("yes", "yes"),
    ],
)
def test_thoughts_written_before_the_answer_are_no_text(text, said):
    assert spoken(text) == said
    assert read(AIMessage(text)).text == said


def test_broken_surrogates_anywhere_are_mended_and_said_so():
    answer = read(reply(call(args={"q": "\ud83d"}), content="\ud83d\ude00"))

    assert (answer.text, answer.calls[0].args, answer.repaired) == ("😀", {"q": "\ufffd"}, True)


def test_a_huge_text_is_cut_head_and_tail():
    answer = read(AIMessage("a" * TEXT_LIMIT + "z" * 10))

    assert len(answer.text) <= TEXT_LIMIT + 300
    assert answer.text.endswith("z" * 10)
    assert answer.message.content == answer.text


SEARCH = '{"name": "search", "arguments": {"q": "x"}}'


@pytest.mark.parametrize(
    "text",
    [
        SEARCH,
        f"\n{SEARCH}\n",
        f"I will look.\n<tool_call>\n{SEARCH}\n</tool_call>",
        f"<tool_call>{SEARCH}",
        f"Like so:\n```json\n{SEARCH}\n```\nThere.",
        f"[{SEARCH}]",
    ],
)
def test_a_call_written_into_the_text_can_be_lifted(text):
    assert lift_text_calls(text, ["search"]) == (("search", {"q": "x"}),)


def test_several_written_calls_are_lifted_in_order():
    text = f"<tool_call>{SEARCH}</tool_call><tool_call>{SEARCH.replace('x', 'y')}</tool_call>"

    assert [args for _, args in lift_text_calls(text, {"search"})] == [{"q": "x"}, {"q": "y"}]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ann", "arguments": []}',
        '{"name": "search", "arguments": []}',
        '{"name": "search", "arguments": "{}"}',
        '{"name": "search"}',
        '{"name": ["search"], "arguments": {}}',
        '{"name": "search", "arguments": {"n": NaN}}',
        f"The call would be {SEARCH}",
        "[" * 100_000,
        "",
        "7",
    ],
)
def test_other_text_is_no_call(text):
    assert lift_text_calls(text, ["search"]) == ()


texts = st.text(st.characters(exclude_categories=()), max_size=10)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=3), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=10,
)
names = st.one_of(st.sampled_from(["look", "resolve", "", "a b"]), texts)
ids = st.one_of(st.none(), st.sampled_from(["", "a", "b", " "]), texts)
raw_calls = st.fixed_dictionaries(
    {"name": names, "args": st.dictionaries(texts, values, max_size=3), "id": ids}
)
raw_text = st.one_of(texts, st.sampled_from(['{"a": 1}', "{'a': 1}", '{"a"', "[]", "null"]))
broken_calls = st.fixed_dictionaries({"name": st.none() | names, "args": st.none() | raw_text, "id": ids})
call_blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": ids, "name": names, "input": values}),
    st.fixed_dictionaries(
        {"type": st.just("function_call"), "call_id": ids, "name": names, "arguments": raw_text}
    ),
    st.fixed_dictionaries({"type": st.just("tool_call"), "id": ids, "name": names, "args": values}),
)
blocks = st.one_of(
    texts,
    call_blocks,
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
    st.dictionaries(texts, values, max_size=3),
)
replies = st.builds(
    AIMessage,
    content=st.one_of(texts, st.lists(blocks, max_size=4)),
    tool_calls=st.lists(raw_calls, max_size=3),
    invalid_tool_calls=st.lists(broken_calls, max_size=3),
    additional_kwargs=st.dictionaries(texts, values, max_size=3),
    response_metadata=st.dictionaries(st.sampled_from(["finish_reason", "status", "x"]), values, max_size=3),
)


@given(replies, st.sets(st.sampled_from(["a", "b", "new_0"])), st.booleans())
def test_any_reply_becomes_one_that_can_be_kept_and_sent_back(message, taken, streamed):
    answer = read(message, taken, streamed)
    kept = answer.message

    assert STRICT.loads_typed(STRICT.dumps_typed(kept)) == kept
    json.dumps(kept.model_dump(), allow_nan=False, ensure_ascii=False).encode("utf-8")
    assert [one.id for one in answer.calls] == sent_ids(answer)
    assert not taken & set(sent_ids(answer))
    assert all(one.error is None or one.args == {} for one in answer.calls)
    if answer.text or answer.calls:
        answers = [ToolMessage("ok", tool_call_id=one.id) for one in answer.calls]
        assert history_faults([kept, *answers]) == []


@given(replies, st.booleans())
def test_normalising_twice_changes_nothing_more(message, streamed):
    once = read(message, streamed=streamed)

    assert read(once.message, streamed=streamed).message == once.message

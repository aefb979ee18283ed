"""What a person types, as what a paused run takes."""

import pytest

from plait import approve, edit, reject, respond
from plait.cli.answering import answer_of, answers_for
from plait.core.errors import PlaitError
from plait.core.ports import Question

ASKED = {
    kind: Question(f"{kind}-1", f"path/{kind}", "?", kind) for kind in ("question", "approval", "in-doubt")
}
ALL = list(ASKED.values())


@pytest.mark.parametrize(
    ("kind", "said", "answer"),
    [
        ("question", "approve", "approve"),
        ("question", "240", "240"),
        ("question", "json:[1, 2]", [1, 2]),
        ("approval", "approve", approve()),
        ("approval", 'edit {"a": 1}', edit({"a": 1})),
        ("approval", 'edit={"a": 1}', edit({"a": 1})),
        ("approval", "reject", reject()),
        ("approval", "reject: too much", reject("too much")),
        ("approval", "respond it is done", respond("it is done")),
        ("in-doubt", "run_again", "run_again"),
        ("in-doubt", "skip", "skip"),
        ("in-doubt", "happened 7", {"happened": 7}),
        ("in-doubt", "happened paid 7", {"happened": "paid 7"}),
        ("in-doubt", "happened", {"happened": None}),
    ],
)
def test_an_answer_is_read_by_what_was_asked(kind, said, answer):
    assert answer_of(ASKED[kind], said) == answer


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("approval", ""),
        ("approval", "maybe"),
        ("approval", "edit"),
        ("approval", "edit nonsense"),
        ("approval", "edit [1]"),
        ("in-doubt", "yes"),
        ("question", "json:{"),
    ],
)
def test_what_is_no_answer_is_refused(kind, said):
    with pytest.raises(PlaitError):
        answer_of(ASKED[kind], said)


def test_words_answer_the_questions_in_their_order():
    assert answers_for(ALL, ["red", "approve", "skip"], []) == {
        "question-1": "red",
        "approval-1": approve(),
        "in-doubt-1": "skip",
    }


def test_one_question_takes_all_words():
    assert answers_for(ALL[:1], ["the", "red", "one"], []) == {"question-1": "the red one"}


def test_an_id_may_be_cut_short_or_be_a_path():
    given = ["quest=red", "path/approval=reject not now"]

    assert answers_for(ALL, ["skip"], given) == {
        "question-1": "red",
        "approval-1": reject("not now"),
        "in-doubt-1": "skip",
    }


@pytest.mark.parametrize(
    ("words", "by_id"), [(["a", "b"], []), ([], ["nobody=a"]), ([], ["question-1"]), ([], ["path=a", "=b"])]
)
def test_answers_that_match_no_question_are_refused(words, by_id):
    with pytest.raises(PlaitError):
        answers_for(ALL, words, by_id)

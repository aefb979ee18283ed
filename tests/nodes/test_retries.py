"""Which failures are tried again, and after how long."""

import time
from email.utils import formatdate
from typing import Any

import pytest
from langgraph.types import RetryPolicy

from plait.nodes.retries import is_transient, pause_s

POLICY = RetryPolicy(initial_interval=0.5, backoff_factor=2.0, max_interval=10.0, jitter=False)


class Refused(Exception):
    """An error as HTTP clients raise it."""

    def __init__(self, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response: Any = type("Response", (), {"headers": named})()


@pytest.mark.parametrize(
    ("status", "again"), [(400, False), (401, False), (408, True), (429, True), (500, True)]
)
def test_a_policy_without_errors_of_its_own_leaves_out_what_will_be_refused_again(status, again):
    assert is_transient(Refused(), status, POLICY) is again


def test_a_policy_that_names_errors_is_taken_at_its_word():
    for named in (Refused, (KeyError, Refused), lambda error: isinstance(error, Refused)):
        policy = POLICY._replace(retry_on=named)
        assert is_transient(Refused(), 400, policy)
        assert not is_transient(ValueError(), None, policy)


def test_pauses_grow_up_to_the_longest_one():
    assert [pause_s(None, POLICY, attempt) for attempt in (1, 2, 3, 9)] == [0.5, 1.0, 2.0, 10.0]


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry_after": "3"}, 3.0),
        ({"retry_after": "3", "retry_after_ms": "2500"}, 2.5),
        ({"retry_after": "0"}, 0.5),
        ({"retry_after": "3600"}, 10.0),
        ({"retry_after": "soon"}, 0.5),
        ({}, 0.5),
    ],
)
def test_a_longer_pause_that_the_provider_asks_for_is_kept(headers, pause):
    assert pause_s(Refused(**headers), POLICY, 1) == pause


def test_the_provider_may_name_the_time():
    until = formatdate(time.time() + 5, usegmt=True)
    assert 3 < pause_s(Refused(retry_after=until), POLICY, 1) <= 5


def test_jitter_only_adds():
    pauses = [pause_s(None, POLICY._replace(jitter=True), 1) for _ in range(20)]
    assert len(set(pauses)) > 1
    assert all(0.5 <= pause <= 1.5 for pause in pauses)

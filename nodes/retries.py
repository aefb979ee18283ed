"""Which failures of a model are tried again, and after how long."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from langgraph.types import RetryPolicy

_DEFAULT = RetryPolicy().retry_on
_PASSING = frozenset({408, 409, 425, 429})


def is_transient(error: BaseException, status: int | None, policy: RetryPolicy) -> bool:
    """Whether `policy` wants `error` tried again.

    A policy that names no errors of its own leaves out what a provider will only refuse again.
    """
    wanted: Any = policy.retry_on
    if wanted is _DEFAULT and status is not None and 400 <= status < 500:
        return status in _PASSING
    if isinstance(wanted, type):
        return isinstance(error, wanted)
    return bool(wanted(error)) if callable(wanted) else isinstance(error, tuple(wanted))


def pause_s(error: BaseException | None, policy: RetryPolicy, attempt: int) -> float:
    """Seconds to wait after `attempt` (from 1): the policy's, or longer where the provider asks for it."""
    pause = min(policy.max_interval, policy.initial_interval * policy.backoff_factor ** (attempt - 1))
    asked = min(policy.max_interval, _asked_s(getattr(getattr(error, "response", None), "headers", None)))
    return max(pause, asked) + (random.uniform(0, 1) if policy.jitter else 0.0)


def _asked_s(headers: Mapping[str, str] | None) -> float:
    """What `Retry-After` says: milliseconds in the header of OpenAI's clients, seconds, or a date."""
    if not headers:
        return 0.0
    given = headers.get("retry-after") or ""
    try:
        milliseconds = headers.get("retry-after-ms")
        return float(milliseconds) / 1000 if milliseconds else float(given)
    except ValueError:
        return _until(given)


def _until(date: str) -> float:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except ValueError:
        return 0.0

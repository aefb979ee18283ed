"""How runs and steps end: the closed sets of words used everywhere for it."""

from __future__ import annotations

from typing import Literal

Outcome = Literal["done", "partial", "paused", "failed", "cancelled"]

Status = Literal["done", "partial", "failed", "skipped", "cancelled", "rewound"]
"""How one step ended. `rewound`: it failed, and a resume took it up again."""

Reason = Literal[
    "no-resolve",
    "empty-reply",
    "invalid-resolve",
    "output-limit",
    "bad-model-reply",
    "provider",
    "limit",
    "unknown-route",
    "bad-plan",
    "delegation-limit",
    "exhausted",
    "invalid-state",
    "state-conflict",
    "refused-value",
    "rejected",
    "terminated",
    "interrupted",
    "store",
    "error",
]
"""Why a step or run did not end `done`."""

StopReason = Literal["stop", "length", "tool_use", "error", "aborted"]
"""Why the model stopped writing its last reply."""

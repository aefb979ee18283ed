"""When a unit stops: pure policies `Progress -> Stop | None`, combined with `|` and `&`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..core.outcome import Reason
from ..core.outcome import StopReason as StopWord
from ..core.state import SharedState
from ..core.usage import Limits, Usage


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a unit has come at the end of a round. `elapsed_s` in seconds."""

    rounds: int
    resolved: bool
    stop_reason: StopWord
    text: str
    state: SharedState
    usage: Usage
    elapsed_s: float
    delegated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """The unit stops here: well (`done`), or with what it has (`partial`, `failed`)."""

    status: Literal["done", "partial", "failed"]
    reason: Reason | None = None
    message: str = ""


class Policy:
    """A termination policy. `a | b` stops with the first of them, `a & b` when both would."""

    __slots__ = ()

    def __call__(self, progress: Progress) -> Stop | None:
        raise TypeError(f"{type(self).__name__} must define __call__")

    def __or__(self, other: Policy) -> Policy:
        return AnyOf((*_parts(self, AnyOf), *_parts(other, AnyOf)))

    def __and__(self, other: Policy) -> Policy:
        return AllOf((*_parts(self, AllOf), *_parts(other, AllOf)))


@dataclass(frozen=True, slots=True)
class AnyOf(Policy):
    policies: tuple[Policy, ...]

    def __call__(self, progress: Progress) -> Stop | None:
        stops = [stop for policy in self.policies if (stop := policy(progress))]
        return _best(stops) if stops else None


@dataclass(frozen=True, slots=True)
class AllOf(Policy):
    policies: tuple[Policy, ...]

    def __call__(self, progress: Progress) -> Stop | None:
        stops = [stop for policy in self.policies if (stop := policy(progress))]
        return _best(stops) if len(stops) == len(self.policies) else None


@dataclass(frozen=True, slots=True)
class Resolved(Policy):
    """`resolve` was called validly."""

    def __call__(self, progress: Progress) -> Stop | None:
        return Stop("done") if progress.resolved else None


@dataclass(frozen=True, slots=True)
class StopReason(Policy):
    """The model's last reply stopped for this reason; `stop` is a reply without calls."""

    reason: StopWord = "stop"

    def __call__(self, progress: Progress) -> Stop | None:
        return (
            _terminated(f"the model stopped: {self.reason}") if progress.stop_reason == self.reason else None
        )


@dataclass(frozen=True, slots=True)
class MaxRounds(Policy):
    """This many rounds were made without an end."""

    rounds: int

    def __call__(self, progress: Progress) -> Stop | None:
        if progress.rounds < self.rounds:
            return None
        return Stop("failed", "limit", f"limit max_rounds={self.rounds} is used up")


@dataclass(frozen=True, slots=True)
class Condition(Policy):
    """A predicate over the shared state holds."""

    holds: Callable[[SharedState], bool]

    def __call__(self, progress: Progress) -> Stop | None:
        return _terminated("its condition on the state holds") if self.holds(progress.state) else None


@dataclass(frozen=True, slots=True)
class Delegated(Policy):
    """The unit delegated to `to` (or to anyone)."""

    to: str | None = None

    def __call__(self, progress: Progress) -> Stop | None:
        delegated = (
            progress.delegated if self.to is None else [to for to in progress.delegated if to == self.to]
        )
        return _terminated(f"it delegated to {delegated[0]}") if delegated else None


@dataclass(frozen=True, slots=True)
class Limit(Policy):
    """The unit itself spent this much."""

    limits: Limits

    def __call__(self, progress: Progress) -> Stop | None:
        spent = {
            "tokens": progress.usage.tokens,
            "model_calls": progress.usage.model_calls,
            "tool_calls": progress.usage.tool_calls,
            "seconds": progress.elapsed_s,
        }
        for name, value in spent.items():
            limit = getattr(self.limits, name)
            if limit is not None and value >= limit:
                return Stop("failed", "limit", f"limit {name}={limit:g} is used up")
        return None


def _terminated(why: str) -> Stop:
    return Stop("partial", "terminated", why)


def _best(stops: list[Stop]) -> Stop:
    """The stop that counts when several policies would stop: a good end before all others."""
    return next((stop for stop in stops if stop.status == "done"), stops[0])


def _parts(policy: Policy, kind: type[AnyOf] | type[AllOf]) -> tuple[Policy, ...]:
    return policy.policies if isinstance(policy, kind) else (policy,)


def gates_resolve(policy: Policy | None) -> bool:
    """Whether `resolve` alone is not enough: it stands in an `&` with something else."""
    if isinstance(policy, AllOf):
        return any(isinstance(part, Resolved) for part in policy.policies)
    return (
        isinstance(policy, AnyOf)
        and any(gates_resolve(part) for part in policy.policies)
        and not any(isinstance(part, Resolved) for part in policy.policies)
    )


def told(policy: Policy) -> str:
    """A policy as the model is told of it: what must hold besides `resolve`."""
    if isinstance(policy, AllOf | AnyOf):
        word = " and " if isinstance(policy, AllOf) else " or "
        return word.join(told(part) for part in policy.policies if not isinstance(part, Resolved))
    if isinstance(policy, Condition):
        return str(getattr(policy.holds, "__name__", policy.holds)).replace("_", " ")
    return repr(policy)

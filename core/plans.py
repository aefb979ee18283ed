"""What a planner gives: steps, who runs each, and what each waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pydantic import BaseModel, Field

from .paths import id_fault


class PlanStep(BaseModel):
    """One step of a plan."""

    id: str = Field(description="unique in the plan")
    executor: str = Field(description="which executor runs it")
    task: str = Field(description="what the executor is told to do")
    depends_on: list[str] = Field(default_factory=list, description="ids of steps whose results it needs")


class Plan(BaseModel):
    """Steps in any order; a step runs once all it depends on is done."""

    steps: list[PlanStep]


def plan_fault(plan: Plan, executors: Collection[str], taken: Collection[str] = ()) -> str | None:
    """What is wrong with a plan, naming the ids, or None: nothing of a bad plan is ever run.

    `taken` are ids that stand for other parts of the flow already.
    """
    ids = [step.id for step in plan.steps]
    faults = [
        "" if plan.steps else "the plan has no steps",
        *(fault for step_id in ids if (fault := id_fault(step_id))),
        *(f"two steps have the id {twice!r}" for twice in sorted({i for i in ids if ids.count(i) > 1})),
        *(f"the id {used!r} is taken by another part; use another one" for used in sorted({*ids} & {*taken})),
        *(
            f"step {step.id!r} wants the executor {step.executor!r}; there are: {', '.join(executors)}"
            for step in plan.steps
            if step.executor not in executors
        ),
        *(
            f"step {step.id!r} depends on {need!r}, which is no step"
            for step in plan.steps
            for need in step.depends_on
            if need not in ids
        ),
    ]
    circle = cycle({step.id: step.depends_on for step in plan.steps})
    faults.append(f"steps depend on each other in a circle: {' -> '.join(circle)}" if circle else "")
    return "; ".join(fault for fault in faults if fault) or None


def cycle(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """One circle in a mapping from a key to what it needs, its first key again at the end; else []."""
    done: set[str] = set()
    for start in needs:
        trail: list[str] = []
        if found := _walk(start, needs, trail, done):
            return found
    return []


def _walk(start: str, needs: Mapping[str, Iterable[str]], trail: list[str], done: set[str]) -> list[str]:
    waiting = [(start, iter(needs.get(start, ())))]
    trail.append(start)
    while waiting:
        key, rest = waiting[-1]
        following = next((need for need in rest if need not in done), None)
        if following is None:
            waiting.pop()
            trail.pop()
            done.add(key)
        elif following in trail:
            return [*trail[trail.index(following) :], following]
        else:
            trail.append(following)
            waiting.append((following, iter(needs.get(following, ()))))
    return []


def ordered(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """The keys, each after what it needs, else in their given order. The mapping has no circle."""
    placed: list[str] = []
    waiting = list(needs)
    while waiting:
        ready = next(
            key for key in waiting if all(need in placed or need not in needs for need in needs[key])
        )
        placed.append(ready)
        waiting.remove(ready)
    return placed

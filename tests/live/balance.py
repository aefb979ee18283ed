"""Whether the events of a run are balanced: what cancels and drains must not break."""

from collections.abc import Sequence

from plait import Event

WITHIN = {"agent": ("turn", "message", "tool_execution"), "turn": ("message", "tool_execution")}


def imbalance(events: Sequence[Event]) -> list[str]:
    """The ends that come without a start or before those of what is inside, and the starts without an end."""
    open_now: list[tuple[str, str, str | None]] = []
    faults = []
    for event in events:
        kind, _, end = event.type.rpartition("_")
        key = (kind, event.path, event.call_id)
        if end == "start":
            open_now.append(key)
        elif end == "end":
            inside = [k for k in open_now if k[1] == event.path and k[0] in WITHIN.get(kind, ())]
            if key not in open_now or inside:
                faults.append(f"{event.sequence}: {key} ends, while open: {inside}")
            if key in open_now:
                open_now.remove(key)
    return [*faults, *(f"{key} never ends" for key in open_now)]

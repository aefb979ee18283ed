"""What units had said in a turn that broke off, where only the journal has their rounds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from ..core.delta import Transcripts
from ..core.paths import memory_key
from ..core.ports import JournalEntry
from ..nodes.closing import closed
from ..nodes.inline import ROUND


def cut_rounds(entries: Mapping[str, JournalEntry], turn: int) -> Transcripts:
    """The transcripts of `turn`, by memory key, open calls closed."""
    units: dict[str, dict[int, JournalEntry]] = defaultdict(dict)
    for key, entry in entries.items():
        unit, mark, number = key.rpartition(ROUND)
        if mark and number.isdecimal():
            units[unit][int(number)] = entry
    found: dict[str, tuple[BaseMessage, ...]] = {}
    begun = {unit: rounds[1].result.get("opened") for unit, rounds in units.items() if 1 in rounds}
    of_turn = {unit: opened for unit, opened in begun.items() if opened and opened["turn"] == turn}
    for unit in sorted(of_turn, key=lambda unit: _passes(of_turn[unit]["place"])):  # the last pass counts
        opened, rounds = of_turn[unit], units[unit]
        last = f"{unit}{ROUND}{max(rounds)}"
        calls = [entry for key, entry in entries.items() if key.startswith(f"{last}#")]
        found[memory_key(opened["place"])] = _transcript(opened["messages"], rounds, calls)
    return found


def _passes(place: str) -> list[int]:
    """The numbers in a path: of loop passes and map items, outermost first."""
    return [int(number) for number in re.findall(r"\d+", place)]


def _transcript(
    opening: list[BaseMessage], rounds: Mapping[int, JournalEntry], calls: list[JournalEntry]
) -> tuple[BaseMessage, ...]:
    written = [
        update["messages"]
        for number in sorted(rounds)
        for update in rounds[number].result["updates"]
        if "messages" in update
    ]
    held: list[Any] = list(rounds[max(rounds)].result.get("results", {}).values())
    held += [entry.result["call"] for entry in calls if entry.state == "done" and entry.result]
    return closed(opening, written, [result for result in held if "message" in result])

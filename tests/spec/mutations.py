"""Good files made bad at random, the same ones for the same seed: slips, cuts, splices and hostile bits."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

HOSTILE = [
    "!!python/object/apply:os.system [ls]",
    "&a [*a]",
    "*nothing",
    "<<: *x",
    "{{{{{{{{",
    "[" * 70,
    "- " * 70,
    "\x00",
    "\ud800",
    "\ufeff",
    "\u2028",
    "---\n",
    "...\n",
    "%YAML 9.9\n",
    "? [a]\n: b\n",
    "${",
    "${NOT_SET_AT_ALL}",
    "$${",
    "include: /dev/zero.yaml",
    "include: .",
    "9" * 500,
    "1e999",
    "-.inf",
    ".nan",
    "0x" + "f" * 40,
    "builtins:exit",
    "os:system",
    "sys:modules",
    "a.b:c",
    ":",
    "x" * 5000,
    "type: sequence",
    "unit: plan",
    "when: " + "score >= " * 50,
    "list[" * 40,
    "Literal[]",
    "Literal[[1]]",
    "str | 3",
    "null",
    "~",
    "{}",
    "[]",
    "''",
    "true",
    "- - - -",
    "\t",
    "|\n",
    ">-\n",
    "a: &a {b: &b [c, *a]}",
]


def _char(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return (
        text[:at] + chance.choice(["", chr(chance.randrange(32, 127)), "\n", ":", "-", "é"]) + text[at + 1 :]
    )


def _splice(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(HOSTILE) + text[at:]


def _value(text: str, chance: random.Random) -> str:
    """Another value for a key: one of the file's own, or a hostile one."""
    lines = text.split("\n")
    keyed = [number for number, line in enumerate(lines) if ": " in line]
    if not keyed:
        return text
    number, other = chance.choice(keyed), chance.choice(keyed)
    value = chance.choice([lines[other].split(": ", 1)[1], chance.choice(HOSTILE)])
    lines[number] = f"{lines[number].split(': ', 1)[0]}: {value}"
    return "\n".join(lines)


def _line(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    change: Callable[[], list[str]] = chance.choice(
        [
            lambda: lines[:at] + lines[at + 1 :],
            lambda: [*lines[:at], lines[other], *lines[at:]],
            lambda: [*lines[:at], " " * chance.randrange(9) + lines[at].lstrip(), *lines[at + 1 :]],
            lambda: lines[:at],
            lambda: lines[:at] + lines[other : other + chance.randrange(9)] + lines[at:],
        ]
    )
    return "\n".join(change())


def _word(text: str, chance: random.Random) -> str:
    """One word of the file in the place of another."""
    words = text.split(" ")
    words[chance.randrange(len(words))] = chance.choice(words)
    return " ".join(words)


def mutated(texts: Sequence[str], seed: int) -> str:
    """One of the texts with one to four changes."""
    chance = random.Random(seed)
    text = chance.choice(texts)
    for _ in range(chance.choice([1, 1, 2, 4])):
        text = chance.choice([_char, _splice, _value, _line, _word])(text, chance)
    return text

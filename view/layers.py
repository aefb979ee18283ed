"""Shapes in layers from top to bottom: which layer, which order in it, and where across.

Source: K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System
Structures" (1981); the places across are least squares under minimal gaps, found by pooling.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

Node: TypeAlias = str | tuple[int, int]
"""The key of a shape, or (number of a line, layer) where a line passes through a layer."""

Link: TypeAlias = tuple[str, str]
SWEEPS = 8
PASSES = 13


def backward(keys: Sequence[str], links: Sequence[Link]) -> set[int]:
    """The numbers of the links that have to go upwards, so that all others go down."""
    following: dict[str, list[tuple[int, str]]] = {key: [] for key in keys}
    for number, (source, target) in enumerate(links):
        following[source].append((number, target))
    found: set[int] = set()
    open_: set[str] = set()
    done: set[str] = set()
    for first in keys:
        stack = [(first, iter(following[first]))] if first not in done else []
        open_.update(key for key, _ in stack)
        while stack:
            key, rest = stack[-1]
            number, target = next(rest, (-1, ""))
            if number < 0:
                stack.pop()
                open_.discard(key)
                done.add(key)
            elif target in open_:
                found.add(number)
            elif target not in done:
                open_.add(target)
                stack.append((target, iter(following[target])))
    return found


def ranked(keys: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """The layer of each key, from 0: one below the lowest of what leads to it. No circles."""
    before: dict[str, list[str]] = {key: [] for key in keys}
    after: dict[str, list[str]] = {key: [] for key in keys}
    for source, target in links:
        before[target].append(source)
        after[source].append(target)
    open_ = {key: len(before[key]) for key in keys}
    ready = [key for key in keys if not open_[key]]
    ranks: dict[str, int] = {}
    for key in ready:
        ranks[key] = max((ranks[source] + 1 for source in before[key]), default=0)
        for target in after[key]:
            open_[target] -= 1
            if not open_[target]:
                ready.append(target)
    return ranks


def chains(links: Mapping[int, Link], ranks: Mapping[str, int]) -> dict[int, list[Node]]:
    """Each link as the nodes it passes, one in every layer from its source to its target."""
    return {
        number: [source, *((number, rank) for rank in range(ranks[source] + 1, ranks[target])), target]
        for number, (source, target) in links.items()
    }


def ordered(ranks: Mapping[str, int], passed: Mapping[int, Sequence[Node]]) -> list[list[Node]]:
    """The layers, each in an order that lets few links cross; ties stay in the order of `ranks`."""
    layers: list[list[Node]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for key, rank in ranks.items():
        layers[rank].append(key)
    for number, chain in passed.items():
        for node in chain[1:-1]:
            assert not isinstance(node, str)
            layers[node[1]].append((number, node[1]))
    above, below = neighbours(passed)
    best, fewest = [list(layer) for layer in layers], crossings(layers, below)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        near = above if sweep % 2 == 0 else below
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            _sort(layer, layers, near)
        if (count := crossings(layers, below)) < fewest:
            best, fewest = [list(layer) for layer in layers], count
    return best


def neighbours(passed: Mapping[int, Sequence[Node]]) -> tuple[dict[Node, list[Node]], dict[Node, list[Node]]]:
    """What each node is linked to in the layer above it, and in the one below."""
    above: dict[Node, list[Node]] = {}
    below: dict[Node, list[Node]] = {}
    for chain in passed.values():
        for upper, lower in pairwise(chain):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    return above, below


def _sort(layer: list[Node], layers: Sequence[Sequence[Node]], near: Mapping[Node, list[Node]]) -> None:
    places = {node: place for line in layers for place, node in enumerate(line)}

    def middle(node: Node) -> float:
        linked = near.get(node)
        return sum(places[one] for one in linked) / len(linked) if linked else places[node]

    layer.sort(key=middle)


def crossings(layers: Sequence[Sequence[Node]], below: Mapping[Node, list[Node]]) -> int:
    """How many pairs of links cross."""
    total = 0
    for upper, lower in pairwise(layers):
        places = {node: place for place, node in enumerate(lower)}
        seen: list[int] = []
        for node in upper:
            ends = [places[one] for one in below.get(node, ())]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def across(
    layers: Sequence[Sequence[Node]],
    passed: Mapping[int, Sequence[Node]],
    widths: Mapping[Node, float],
    gap: float,
) -> dict[Node, float]:
    """The middle of each node from left to right: near what it is linked to, at least `gap` apart."""
    middles: dict[Node, float] = {}
    for layer in layers:
        middles |= dict(zip(layer, _apart([0.0] * len(layer), layer, widths, gap), strict=True))
    above, below = neighbours(passed)
    for number in range(PASSES):
        near = above if number % 2 == 0 else below
        for layer in layers if number % 2 == 0 else reversed(layers):
            wanted = [
                sum(middles[one] for one in linked) / len(linked)
                if (linked := near.get(node))
                else middles[node]
                for node in layer
            ]
            middles |= dict(zip(layer, _apart(wanted, layer, widths, gap), strict=True))
    return middles


def _apart(
    wanted: Sequence[float], layer: Sequence[Node], widths: Mapping[Node, float], gap: float
) -> list[float]:
    """The places nearest to `wanted` that keep the order and the gaps: neighbours that would be too
    close become one block, which goes to the mean of what its members want."""
    offsets, at = [], 0.0
    for number, node in enumerate(layer):
        at += (widths[layer[number - 1]] + widths[node]) / 2 + gap if number else 0.0
        offsets.append(at)
    blocks: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets, strict=True):
        total, count = place - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            earlier, many = blocks.pop()
            total, count = total + earlier, count + many
        blocks.append((total, count))
    starts = [total / count for total, count in blocks for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]

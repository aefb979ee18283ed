"""Scripted replies as data: what a model would say, chosen by what it is sent.

For each unit a list of rules, of which the first that fits answers, or a plain list of replies in order:

    classify:
      - {when: {contains: weather}, call: {resolve: {route: general}}}
      - when: {matches: '(?P<item>[a-z]+) (?P<amount>[0-9]+)'}
        call: {save: {item: "{item}", amount: "{amount:number}"}}
      - {when: {after: save}, text: "{result}"}
      - otherwise: {text: I do not understand.}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .diagnostics import listed, nearest
from .mockpattern import BadPattern, Pattern, pattern_of

Path = tuple[str | int, ...]
WHEN, OTHERWISE = "when", "otherwise"
NAMES = ("input", "result")
"""What `{…}` in a reply may name besides the groups of a pattern: the user's text, the last tool's result."""


class MockFault(ValueError):
    """What is wrong with scripted replies. `path` leads to the place; `nearest` may be meant."""

    def __init__(self, message: str, path: Path, near: str = "") -> None:
        super().__init__(message)
        self.path, self.nearest = path, near


@dataclass(frozen=True)
class Call:
    """One tool call of a reply."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """Text, calls, or both; or the words of an error with which the model fails."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    fail: str | None = None


@dataclass(frozen=True)
class When:
    """All that is given has to hold. None of it: always.

    `contains` and `matches` look at the user's last message, `result` at the last tool's result; `after`
    names that tool; `round` counts the replies since the user's last message, from 1.
    """

    contains: str | None = None
    matches: Pattern | None = None
    after: str | None = None
    result: Pattern | None = None
    round: int | None = None


@dataclass(frozen=True)
class Rule:
    """A reply and when it is given."""

    when: When
    reply: Reply


Replies = tuple[Rule, ...] | tuple[Reply, ...]


@dataclass(frozen=True)
class Mock:
    """The scripted replies of a workflow by unit id: rules, or replies in order."""

    units: Mapping[str, Replies] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What a rule may know of a request. `tool` gave the last result, if one stands there at the end."""

    user: str = ""
    round: int = 1
    tool: str | None = None
    result: str = ""


# Choosing


def chosen(rules: tuple[Rule, ...], seen: Seen) -> Reply | None:
    """The reply of the first rule that fits, its names filled in; None if none fits."""
    for rule in rules:
        names = held(rule.when, seen)
        if names is not None:
            return filled(rule.reply, {"input": seen.user, "result": seen.result, **names})
    return None


def held(when: When, seen: Seen) -> dict[str, str] | None:
    """The named groups when a condition holds, else None."""
    if when.contains is not None and when.contains not in seen.user:
        return None
    if (when.after is not None and when.after != seen.tool) or when.round not in (None, seen.round):
        return None
    names: dict[str, str] = {}
    for pattern, text in ((when.matches, seen.user), (when.result, seen.result)):
        groups = {} if pattern is None else pattern.groups_in(text)
        if groups is None:
            return None
        names |= groups
    return names


_NAME = re.compile(r"\{([A-Za-z_]\w*)(:number)?\}")


def filled(reply: Reply, names: Mapping[str, str]) -> Reply:
    """The reply with its names filled in; what `names` does not know stays as it is."""
    calls = tuple(Call(call.tool, _filled(dict(call.args), names)) for call in reply.calls)
    return Reply(_text(reply.text, names), calls, None if reply.fail is None else _text(reply.fail, names))


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, names) for item in value]
    if not isinstance(value, str):
        return value
    whole = _NAME.fullmatch(value)
    if whole and whole[2] and whole[1] in names:
        return _number(names[whole[1]])
    return _text(value, names)


def _text(text: str, names: Mapping[str, str]) -> str:
    return _NAME.sub(lambda name: names.get(name[1], name[0]), text)


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# Reading and writing


def mock_of(data: Any) -> Mock:
    """The scripted replies that plain data says. Raises MockFault."""
    if not isinstance(data, Mapping):
        raise MockFault("scripted replies are a mapping from unit ids to lists of replies", ())
    return Mock({unit: _replies(listed_, (unit,)) for unit, listed_ in data.items()})


def _replies(data: Any, path: Path) -> Replies:
    if not isinstance(data, list):
        raise MockFault("the replies of a unit are a list of rules, or of replies in order", path)
    ruled = [isinstance(item, Mapping) and (WHEN in item or OTHERWISE in item) for item in data]
    if not any(ruled):
        return tuple(_reply(item, (*path, at)) for at, item in enumerate(data))
    if not all(ruled):
        told = f"either all of a list are rules with {WHEN!r} or {OTHERWISE!r}, or none; this one is bare"
        raise MockFault(told, (*path, ruled.index(False)))
    return tuple(_rule(item, (*path, at)) for at, item in enumerate(data))


def _rule(data: Mapping[str, Any], path: Path) -> Rule:
    if OTHERWISE in data:
        if len(data) > 1:
            raise MockFault(f"{OTHERWISE!r} holds the whole reply and stands alone", path)
        return Rule(When(), _reply(data[OTHERWISE], (*path, OTHERWISE)))
    when = _when(data[WHEN], (*path, WHEN))
    return Rule(when, _reply({key: item for key, item in data.items() if key != WHEN}, path))


def _when(data: Any, path: Path) -> When:
    words = [each.name for each in fields(When)]
    if not isinstance(data, Mapping) or not data:
        raise MockFault(f"a condition is a mapping with some of: {listed(words)}", path)
    _check_words(data, words, "a condition", path)
    for word in ("contains", "matches", "after", "result"):
        if word in data and not isinstance(data[word], str):
            raise MockFault(f"{word!r} is a text, not {data[word]!r:.60}", (*path, word))
    if "round" in data and (type(data["round"]) is not int or data["round"] < 1):
        raise MockFault(f"'round' is a number from 1 up, not {data['round']!r:.60}", (*path, "round"))
    given = dict(data)
    for word in ("matches", "result"):
        if word in data:
            try:
                given[word] = pattern_of(data[word])
            except BadPattern as error:
                raise MockFault(str(error), (*path, word)) from error
    return When(**given)


def _reply(data: Any, path: Path) -> Reply:
    words = ["text", "call", "fail"]
    if not isinstance(data, Mapping) or not data:
        raise MockFault(f"a reply is a mapping with one of: {listed(words)}", path)
    _check_words(data, words, "a reply", path)
    for word in ("text", "fail"):
        if word in data and not isinstance(data[word], str):
            raise MockFault(f"{word!r} is a text, not {data[word]!r:.60}", (*path, word))
    if "fail" in data and len(data) > 1:
        raise MockFault("'fail' stands alone", (*path, "fail"))
    calls = tuple(_calls(data["call"], (*path, "call"))) if "call" in data else ()
    return Reply(data.get("text", ""), calls, data.get("fail"))


def _calls(data: Any, path: Path) -> Iterator[Call]:
    """`{tool: args, …}`, or a list of such mappings for several calls of one tool."""
    groups = list(enumerate(data)) if isinstance(data, list) else [(None, data)]
    for at, group in groups:
        place = path if at is None else (*path, at)
        if not isinstance(group, Mapping) or not group:
            raise MockFault("a call is a mapping from the tool to its arguments", place)
        for tool, args in group.items():
            if args is not None and not isinstance(args, Mapping):
                raise MockFault(f"the arguments of {tool!r:.60} are a mapping", (*place, tool))
            yield Call(tool, dict(args or {}))


def _check_words(data: Mapping[str, Any], words: list[str], what: str, path: Path) -> None:
    for word in data:
        if word not in words:
            told = f"{what} has no key {word!r:.60}; it has {listed(words)}"
            raise MockFault(told, (*path, word), nearest(str(word), words))


def data_of(mock: Mock) -> dict[str, Any]:
    """Plain data that `mock_of` reads as an equal mock."""
    return {unit: [_data_of(item) for item in replies] for unit, replies in mock.units.items()}


def _data_of(item: Rule | Reply) -> dict[str, Any]:
    if isinstance(item, Reply):
        return _reply_data(item)
    if item.when == When():
        return {OTHERWISE: _reply_data(item.reply)}
    given = {each.name: getattr(item.when, each.name) for each in fields(When)}
    told = {key: it.text if isinstance(it, Pattern) else it for key, it in given.items() if it is not None}
    return {WHEN: told, **_reply_data(item.reply)}


def _reply_data(reply: Reply) -> dict[str, Any]:
    if reply.fail is not None:
        return {"fail": reply.fail}
    text = {"text": reply.text} if reply.text or not reply.calls else {}
    if not reply.calls:
        return text
    by_tool = {call.tool: dict(call.args) for call in reply.calls}
    several: Any = [{call.tool: dict(call.args)} for call in reply.calls]
    return {**text, "call": by_tool if len(by_tool) == len(reply.calls) else several}

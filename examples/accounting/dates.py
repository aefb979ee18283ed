"""Days, as people write them beside an expense: 昨天, last Friday, 3月5日, 2026-11-02."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

FARTHEST_DAYS = 300
"""How far back a date without a year may lie: 12月5日, said in November, may as well be a plan."""

_AGO = {
    "大前天": 3, "前天": 2, "昨天": 1, "昨晚": 1, "今天": 0, "今日": 0, "今早": 0, "今晚": 0,
    "the day before yesterday": 2, "yesterday": 1, "last night": 1, "today": 0, "tonight": 0,
    "this morning": 0, "this afternoon": 0, "this evening": 0,
}  # fmt: skip
_DAYS = {"两": 2, "三": 3, "四": 4, "五": 5, "六": 6}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LONG_MONTHS = "january february march april june july august september october november december sept"
_MONTH_NAMES = "|".join([*_LONG_MONTHS.split(), *_MONTHS])  # longer ones first

Rule = Callable[[re.Match[str], dt.date], dt.date | None]


def read_date(text: str, start: int, today: dt.date) -> tuple[int, dt.date | None] | None:
    """Where a day written at `start` ends, and the day: None for an impossible one or one to come."""
    for pattern, rule in _RULES:
        if match := pattern.match(text, start):
            day = rule(match, today)
            return match.end(), day if day and day <= today else None
    return None


def _ago(match: re.Match[str], today: dt.date) -> dt.date:
    return today - dt.timedelta(days=_AGO[match[0].lower()])


def _days_ago(match: re.Match[str], today: dt.date) -> dt.date:
    count = match[1]
    return today - dt.timedelta(days=_DAYS[count] if count in _DAYS else int(count))


def _last_weekday(match: re.Match[str], today: dt.date) -> dt.date:
    back = (today.weekday() - _WEEKDAYS.index(match[1].lower())) % 7
    return today - dt.timedelta(days=back or 7)


def _weekday_of_last_week(match: re.Match[str], today: dt.date) -> dt.date:
    monday = today - dt.timedelta(days=today.weekday() + 7)
    return monday + dt.timedelta(days="一二三四五六日天".index(match[1].replace("天", "日")))


def _full(match: re.Match[str], today: dt.date) -> dt.date | None:
    return _day(int(match[1]), int(match[3]), int(match[4]))


def _numbered_month(match: re.Match[str], today: dt.date) -> dt.date | None:
    return _latest(int(match[1]), int(match[2]), today)


def _named_month(match: re.Match[str], today: dt.date) -> dt.date | None:
    return _latest(_MONTHS.index(match[1][:3].lower()) + 1, int(match[2]), today)


def _latest(month: int, day: int, today: dt.date) -> dt.date | None:
    """The latest such day that is not to come, unless it lies too far back to be meant."""
    found = _day(today.year, month, day)
    if found is None or found > today:
        found = _day(today.year - 1, month, day)
    return found if found and (today - found).days <= FARTHEST_DAYS else None


def _day(year: int, month: int, day: int) -> dt.date | None:
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9.])(?:{text})(?![a-z0-9])", re.ASCII | re.IGNORECASE)


_RULES: tuple[tuple[re.Pattern[str], Rule], ...] = (
    (_pattern("|".join(word for word in _AGO if word.isascii())), _ago),
    (re.compile("|".join(word for word in _AGO if not word.isascii())), _ago),
    (_pattern("([0-9]{1,2}) days? ago"), _days_ago),
    (re.compile("(?<![0-9.])([0-9]{1,2}|[两三四五六])天前"), _days_ago),
    (_pattern(f"last ({'|'.join(_WEEKDAYS)})"), _last_weekday),
    (re.compile("上(?:周|星期|礼拜)([一二三四五六日天])"), _weekday_of_last_week),
    (_pattern("(20[0-9]{2})([-/])([0-9]{1,2})\\2([0-9]{1,2})"), _full),
    (re.compile("(?<![0-9.])(20[0-9]{2})(年)([0-9]{1,2})月([0-9]{1,2})[日号]"), _full),
    (re.compile("(?<![0-9.])([0-9]{1,2})月([0-9]{1,2})[日号]"), _numbered_month),
    # "20 nov 5" is two dates or two amounts, so a number before the month leaves it unread
    (_pattern(f"(?<![0-9] )({_MONTH_NAMES}) ([0-9]{{1,2}})(?:st|nd|rd|th)?(?![.,][0-9])"), _named_month),
)

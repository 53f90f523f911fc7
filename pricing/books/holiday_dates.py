"""Public holidays of a calendar as dates, so that a book carries what it was published with.

The dates come from the `holidays` library; a book that lists its own under [holidays] keeps them.
"""

import re
from collections.abc import Iterable
from datetime import date
from importlib import import_module
from typing import Final

FIRST_YEAR: Final = 2020  # no earlier usage of tokens is priced by the day
LAST_YEAR: Final = 2035  # later requests are flagged holidays_unknown until the book is renewed
_CALENDAR: Final = re.compile(r"([A-Z]{2})(?:-([A-Za-z0-9]{1,8}))?")


def holiday_dates(calendar: str, years: Iterable[int]) -> frozenset[date]:
    """Days off of a country ("CN") or a part of one ("DE-BY") in `years`, local dates.

    Raises ValueError, naming the form that is expected, for a calendar that is not known.
    """
    named = _CALENDAR.fullmatch(calendar)
    if named is None:
        raise ValueError(f'expected a country such as "CN" or a part such as "DE-BY", {calendar!r}')
    holidays = import_module("holidays")  # 0.3 s: only a book with holidays pays for it
    try:
        days = holidays.country_holidays(named[1], subdiv=named[2], years=years)
    except NotImplementedError as error:
        raise ValueError(f"no public holidays are known for {calendar!r}") from error
    return frozenset(days)

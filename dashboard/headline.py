"""The first line of a page: the answer, in words a manager repeats."""

from decimal import Decimal
from typing import Final

from dashboard.formats import change, exact
from dashboard.page import Page
from dashboard.summary import Summary

SUBJECTS: Final = {  # preset → (while it runs, after it ended)
    "today": ("headline.today", "headline.today"),
    "month": ("headline.month", "headline.month"),
    "last_month": ("headline.last_month", "headline.last_month"),
    "30d": ("headline.days30", "headline.days30"),
    "custom": ("headline.custom_running", "headline.custom"),
}
COSTS: Final = {
    "today": ("cost.today", "cost.today"),
    "month": ("cost.month", "cost.month"),
    "last_month": ("cost.last_month", "cost.last_month"),
    "30d": ("cost.days30", "cost.days30"),
    "custom": ("cost.custom_running", "cost.custom"),
}
COMPARED: Final = {
    "today": "headline.than_yesterday",
    "month": "headline.than_month",
    "last_month": "headline.than_last_month",
    "30d": "headline.than_days30",
    "custom": "headline.than_custom",
}
CAUSES: Final = {
    "calendar": "cause.calendar", "volume": "cause.volume", "mix": "cause.mix",
    "hit_ratio": "cause.hit_ratio", "price": "cause.price",
}  # fmt: skip
SAME: Final = Decimal("0.0005")  # less than 0.1 % in print


def earned(
    page: Page,
    now: Summary,
    then: Summary | None,
    *,
    own: bool = False,
    cause: str | None = None,
) -> str:
    """What the window earned, against the window before.

    own: what it cost the tenant. cause: the largest effect of the variance bridge, if it is known.
    """
    words, formats, filters = page.words, page.formats, page.filters
    running, ended = (COSTS if own else SUBJECTS)[filters.preset]
    first = words(
        running if filters.period.running else ended,
        amount=formats.money(now.amount, now.currency),
        first=formats.day(filters.period.start_at),
    )
    if then is None or (moved := change(now.amount, then.amount)) is None:
        return first + words("headline.stop")
    if abs(moved) < SAME:
        compared = words("headline.same", than=words(COMPARED[filters.preset]))
    else:
        key = "headline.more" if moved > 0 else "headline.less"
        compared = words(
            key, share=formats.percent(abs(moved)), than=words(COMPARED[filters.preset])
        )
    because = words(CAUSES[cause]) if cause in CAUSES and abs(moved) >= SAME else ""
    return first + compared + because + _moved(page, now, then)


def _moved(page: Page, now: Summary, then: Summary) -> str:
    """Traffic and hit ratio, then and now; empty where one is unknown."""
    formats = page.formats
    traffic = change(now.input_tokens, then.input_tokens)
    ratios = exact(now.hit_ratio), exact(then.hit_ratio)
    if traffic is None or None in ratios:
        return page.words("headline.stop")
    after, before = map(formats.percent, ratios)
    moved, held = (
        ("headline.moved_up", "headline.held_up") if traffic >= 0
        else ("headline.moved_down", "headline.held_down")
    )  # fmt: skip
    share = formats.percent(abs(traffic))
    if after == before:
        return page.words(held, traffic=share, ratio=after)
    return page.words(moved, traffic=share, before=before, after=after)

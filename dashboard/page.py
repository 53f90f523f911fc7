"""What every page is given: words, formats, filters, reader, colours."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from dashboard.filters import Filters
from dashboard.formats import Formats
from dashboard.palette import Palette
from dashboard.periods import Period
from dashboard.reads import Ask, Reader, ask
from dashboard.texts import Words

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One run of a page. rights: list routes that the key may read. now: aware UTC.

    places: the pages of the navigation (st.Page) by path, for links.
    """

    words: Words
    formats: Formats
    filters: Filters
    reader: Reader
    palette: Palette
    rights: frozenset[str]
    now: datetime
    places: Mapping[str, Any] = field(default_factory=dict)

    def at(self, now: datetime) -> "Page":
        """The same page at a later instant."""
        return replace(self, now=now)

    def with_places(self, places: Mapping[str, Any]) -> "Page":
        """The same page, which can link to others."""
        return replace(self, places=places)

    def read(self, *asks: Ask) -> list[list[Row]]:
        """Rows of list routes, in the order of the questions."""
        return [rows_of(answer) for answer in self.reader.read(*asks)]

    def usage(self, period: Period, *groups: str, interval: str = "none", **more: Any) -> Ask:
        """The question for tokens and money of `period` inside the filters."""
        chosen = self.filters
        inside = {"tenant_id": chosen.tenant, "model_id": chosen.model} | more
        return ask(
            "/v1/usage",
            **window(period),
            interval=interval,
            group_by=list(groups) or None,
            zone=chosen.zone.key,
            **inside,
        )


def owners_and_models(period: Period) -> Ask:
    """The question who used which model in `period`, whatever the filters: every page asks it."""
    return ask("/v1/usage", **window(period), group_by=["tenant_id", "model_id"])


def window(period: Period) -> dict[str, Any]:
    """start_at and end_at of `period` as the API takes them."""
    return {"start_at": period.start_at.isoformat(), "end_at": period.end_at.isoformat()}


def rows_of(table: pa.Table) -> list[Row]:
    """Rows as dicts: Decimal, int, datetime, str or None."""
    rows: list[Row] = table.to_pylist()
    return rows

"""The pages, in the order of the navigation; each answers one question."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dashboard.page import Page
from dashboard.views import (
    cache,
    capacity,
    invoices,
    jobs,
    mine,
    overview,
    prices,
    quality,
    roi,
    servers,
    settings,
    slo,
    tenants,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One page. needs, lacks: lists that its key must and must not be able to read.

    title, group: keys of texts. refreshes: is drawn anew by itself while its window runs.
    """

    path: str
    title: str
    group: str
    icon: str
    show: Callable[[Page], None]
    needs: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()
    refreshes: bool = False

    def suits(self, rights: frozenset[str]) -> bool:
        """Whether the page is for a key with these rights."""
        return self.needs <= rights and not self.lacks & rights


HOUSE: Final = frozenset({"/v1/servers"})
OPERATOR: Final = frozenset({"/v1/servers", "/v1/keys", "/v1/audit", "/v1/policies"})
ENTRIES: Final = (  # the first one that suits a key is what it sees first
    Entry(
        path="mine", title="mine.title", group="nav.mine", show=mine.show,
        icon=":material/person:", lacks=HOUSE,
    ),
    Entry(
        path="overview", title="overview.title", group="nav.operate", show=overview.show,
        icon=":material/monitoring:", needs=HOUSE, refreshes=True,
    ),
    Entry(
        path="servers", title="servers.title", group="nav.operate", show=servers.show,
        icon=":material/dns:", needs=HOUSE, refreshes=True,
    ),
    Entry(
        path="cache", title="cache.title", group="nav.operate", show=cache.show,
        icon=":material/cached:", needs=HOUSE,
    ),
    Entry(
        path="slo", title="slo.title", group="nav.operate", show=slo.show,
        icon=":material/speed:", needs=HOUSE | {"/v1/slo"},
    ),
    Entry(
        path="quality", title="quality.title", group="nav.operate", show=quality.show,
        icon=":material/fact_check:", needs=HOUSE | {"/v1/quarantine"},
    ),
    Entry(
        path="jobs", title="jobs.title", group="nav.operate", show=jobs.show,
        icon=":material/schedule:", needs=frozenset({"/v1/jobs"}),
    ),
    Entry(
        path="tenants", title="tenants.title", group="nav.bill", show=tenants.show,
        icon=":material/groups:", needs=HOUSE,
    ),
    Entry(
        path="invoices", title="invoices.title", group="nav.bill", show=invoices.show,
        icon=":material/receipt_long:", needs=frozenset({"/v1/invoices"}),
    ),
    Entry(
        path="prices", title="prices.title", group="nav.bill", show=prices.show,
        icon=":material/sell:", needs=frozenset({"/v1/prices"}),
    ),
    Entry(
        path="roi", title="roi.title", group="nav.invest", show=roi.show,
        icon=":material/savings:", needs=HOUSE | {"/v1/roi/cases"},
    ),
    Entry(
        path="capacity", title="capacity.title", group="nav.invest", show=capacity.show,
        icon=":material/memory:", needs=HOUSE | {"/v1/economics/servers"},
    ),
    Entry(
        path="settings", title="settings.title", group="nav.admin", show=settings.show,
        icon=":material/key:", needs=OPERATOR,
    ),
)  # fmt: skip

"""The pages, in the order of the navigation; each answers one question."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dashboard.page import Page
from dashboard.views import overview


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One page. needs: lists that its key must be able to read. title, group: keys of texts."""

    path: str
    title: str
    group: str
    icon: str
    show: Callable[[Page], None]
    needs: frozenset[str] = frozenset()
    refreshes: bool = True


SERVERS: Final = frozenset({"/v1/servers"})
ENTRIES: Final = (
    Entry(
        path="overview",
        title="overview.title",
        group="nav.operate",
        icon=":material/monitoring:",
        show=overview.show,
        needs=SERVERS,
    ),
)

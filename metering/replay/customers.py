"""Customers: tenants and their projects, few of them large and many small (Zipf's law)."""

import hashlib
from itertools import accumulate
from typing import Final

from metering.errors import ConfigInvalid
from metering.replay.request import Customer, TraceRequest, random_of

ZIPF_EXPONENT: Final = 1.1
TENANTS_MAX: Final = 10_000
PROJECTS_MAX: Final = 4
TREES: Final = (
    "alder",
    "birch",
    "cedar",
    "elm",
    "fir",
    "hazel",
    "juniper",
    "larch",
    "maple",
    "oak",
    "pine",
    "rowan",
)
GROWING: Final = 2  # the tenant that grows, where one does
GROWN: Final = 4.0  # its weight at the end, in weights of its rank; it begins from nothing
PROJECTS: Final = ("search", "assistant", "coding", "batch")


class Customers:
    """`tenants` tenants with one to four projects each; the same for every seed.

    growing: the third tenant comes with the first request and is one of the largest at the last.
    """

    def __init__(self, tenants: int, seed: int, *, growing: bool = False) -> None:
        if not 1 <= tenants <= TENANTS_MAX:
            raise ConfigInvalid(
                f"tenants: expected 1..{TENANTS_MAX}, found {tenants}. Pass --tenants within that."
            )
        self._seed = seed
        self._random = random_of(seed, "customers")
        self.all: list[Customer] = []
        weights: list[float] = []
        for tenant in range(tenants):
            projects = 1 + tenant % PROJECTS_MAX if tenant else PROJECTS_MAX
            for project in range(projects):
                self.all.append(_customer(tenant, project))
                weight = _zipf(tenant) * _zipf(project) / sum(map(_zipf, range(projects)))
                weights.append(weight * (GROWN if growing and tenant == GROWING else 1.0))
        self._cumulative_weights = list(accumulate(weights))
        self._growing_id = _tenant_id(GROWING) if growing else None

    def draw(self, progress: float = 1.0) -> Customer:
        """One customer at random, large ones more often. progress: of the whole load, 0–1."""
        while True:
            drawn = self._random.choices(self.all, cum_weights=self._cumulative_weights)[0]
            if drawn.tenant_id != self._growing_id or self._random.random() < progress:
                return drawn

    def of(self, request: TraceRequest) -> Customer:
        """Whose request it is: its own customer; else one for its session; else any."""
        if request.customer is not None:
            return request.customer
        if not request.cache_scope:
            return self.draw()
        session = random_of(self._seed, f"session {request.cache_scope}")
        return session.choices(self.all, cum_weights=self._cumulative_weights)[0]


def _zipf(rank: int) -> float:
    return float((rank + 1) ** -ZIPF_EXPONENT)


def _tenant_id(tenant: int) -> str:
    return f"t-{TREES[tenant]}" if tenant < len(TREES) else f"t-{tenant + 1}"


def _customer(tenant: int, project: int) -> Customer:
    tenant_id = _tenant_id(tenant)
    project_id = PROJECTS[project]
    digest = hashlib.sha256(f"{tenant_id}/{project_id}".encode()).hexdigest()
    return Customer(tenant_id, project_id, f"k-{digest[:8]}")

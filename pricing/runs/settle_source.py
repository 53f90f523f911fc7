"""Whose record is the bill: the engines' or the gateway's (docs/policies.md, billing_source)."""

from collections.abc import Mapping
from typing import Any

import duckdb

from pricing.policy import SET_ASIDE, Policy
from pricing.runs.statements import run


def add_gateway(
    cursor: duckdb.DuckDBPyConnection, policy: Policy, values: Mapping[str, Any]
) -> None:
    """Gateway records of the batch that are a bill become candidates like an engine's answer."""
    if policy.names_gateway:
        run(cursor, "settle_add_gateway", {**values, "billing_source": policy.billing_source})


def choose_sources(cursor: duckdb.DuckDBPyConnection, policy: Policy) -> bool:
    """Set engine answers aside whose gateway bills; False: no policy says so, nothing was done."""
    aside = {"set_aside": SET_ASIDE}
    if not (policy.names_gateway or _any_aside(cursor, aside)):
        return False
    run(cursor, "settle_source", {**aside, "billing_source": policy.billing_source})
    return True


def name_earners(cursor: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> None:
    """What gateways bill is earned by the servers whose answers were set aside for it."""
    for name in ("settle_earners", "settle_earned_new", "settle_earned_before"):
        run(cursor, name, {**values, "set_aside": SET_ASIDE})


def _any_aside(cursor: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> bool:
    """Whether requests of the candidates' keys were set aside before the policy changed back."""
    row = run(cursor, "settle_count_aside", values).fetchone()
    return bool(row and row[0])

"""The ledger's servers as reports want them: periods in service, rating, costs, what is missing."""

from dataclasses import replace
from fractions import Fraction
from zoneinfo import ZoneInfo

from pricing.api.call import Call
from pricing.api.cost_assumptions import costs_of
from pricing.calendar_time import ServicePeriod
from pricing.ledger.servers import Server, every_server
from pricing.reports.server_economics import KnownServer


def registered(call: Call) -> dict[str, Server]:
    """Every server of the ledger by node id."""
    with call.ledger() as connection:
        return {server.node_id: server for server in every_server(connection)}


def known(server: Server) -> KnownServer:
    """`server` with its cost assumptions read."""
    stated, missing = costs_of(server)
    rated = server.rated_tokens_per_second
    facts = KnownServer(
        node_id=server.node_id,
        stage=server.stage,
        periods=(ServicePeriod(server.in_service_from, server.in_service_until),),
        rated_tokens_per_second=Fraction(rated) if rated else None,
        missing=missing,
        instance_id=server.instance_id,
        instance_weight=server.instance_weight or 1,
    )
    if stated is None:
        return facts
    day = server.in_service_from.astimezone(ZoneInfo(stated.timezone)).date()
    return replace(
        facts,
        costs=stated.to_costs(day),
        measured=stated.power.measured if stated.power else True,
        reserved=stated.reserved,
        shared=frozenset(stated.shared),
    )

"""Commands of pricing: name → the module that registers it, loaded only when it is asked for."""

from typing import Final

COMMANDS: Final = {
    "demo": "pricing.cli_demo",
    "serve": "pricing.cli_serve",
    "rate": "pricing.cli_rate",
    "prices": "pricing.cli_prices",
    "revenue": "pricing.cli_revenue",
    "roi": "pricing.cli_roi",
    "capacity": "pricing.cli_capacity",
    "costs": "pricing.cli_costs",
    "work": "pricing.cli_work",
    "cache": "pricing.cli_cache",
    "reconcile": "pricing.cli_reconcile",
    "close": "pricing.cli_close",
    "rerate": "pricing.cli_rerate",
    "invoice": "pricing.cli_invoice",
    "dispute": "pricing.cli_dispute",
    "tenant": "pricing.cli_parties",
    "issuer": "pricing.cli_parties",
    "buyer": "pricing.cli_parties",
    "job": "pricing.cli_records",
    "policy": "pricing.cli_records",
    "audit": "pricing.cli_records",
    "export": "pricing.cli_export",
    "keys": "pricing.cli_keys",
    "db": "pricing.cli_db",
    "doctor": "pricing.cli_doctor",
}

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
    "cache": "pricing.cli_cache",
    "reconcile": "pricing.cli_reconcile",
    "close": "pricing.cli_close",
    "rerate": "pricing.cli_rerate",
    "invoice": "pricing.cli_invoice",
    "export": "pricing.cli_export",
    "keys": "pricing.cli_keys",
    "db": "pricing.cli_db",
    "doctor": "pricing.cli_doctor",
}

"""Alembic's environment of the ledger; pricing/ledger/upgrade.py hands the connection over."""

from alembic import context

import pricing.ledger.invoice_tables  # noqa: F401 - its tables belong to the metadata
from pricing.ledger.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by building it anew
)
with context.begin_transaction():
    context.run_migrations()

"""Alembic's environment of the usage store; pricing/ledger/upgrade.py hands the connection over.

The DuckDB dialect brings Alembic's implementation for it along.
"""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table_pk=False,  # DuckLake has no primary keys
)
with context.begin_transaction():
    context.run_migrations()

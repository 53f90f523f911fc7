"""Halves meet by key_hash, and a half may wait in the store while DuckDB is upgraded."""

from metering.store.connect import Store
from tests.metering.store.leg_rows import batch, leg, rows, send

# golden: hash(pool, key) of DuckDB 1.5.5, which does not promise it for ever
IN_NO_POOL = 15361774957505652624
IN_POOL_PD = 10688683747980950402


def test_a_key_has_the_number_that_stored_halves_have(store: Store) -> None:
    """If this fails, halves on both sides of the upgrade would not meet.

    Then a migration must write key_hash anew in leg, pending and request, by their join_key
    and group_id.
    """
    key = "10.0.0.1:8998:7"
    send(store, batch(leg("a", stage="prefill", join_key=key, pool=None)))
    send(store, batch(leg("b", stage="decode", join_key=key, pool="pd")))
    found = rows(store, "SELECT key_hash FROM leg ORDER BY ingest_seq")
    assert found == [(IN_NO_POOL,), (IN_POOL_PD,)]

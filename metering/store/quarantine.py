"""A rejected record, corrected by a person and stored after all."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from metering.errors import NotResubmittable, UsageInvalid
from metering.sources.usage_ndjson import FORMAT, is_foreign, usage_row
from metering.store.append import append_within
from metering.store.batches import Answer, LegBatch, naive
from metering.store.connect import transaction
from metering.store.sql_text import read_sql
from metering.usage import event_id
from metering.wire import to_batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What a person makes of a rejected record. record: JSON with the fields of a usage leg."""

    quarantine_id: str
    record: str
    reason: str
    decided_by: str
    decided_at: datetime  # UTC


def resubmit(cursor: duckdb.DuckDBPyConnection, correction: Correction) -> Answer:
    """Store the corrected record and the decision in one transaction.

    Its event id stays what it was, so a second correction of it is a duplicate or a conflict and a
    resend by its sender is found. Raises UsageInvalid, and changes nothing, where the corrected
    record is still rejected. The caller holds `Store.write_lock`.
    """
    with transaction(cursor):
        batch = _corrected(cursor, correction)
        [answer] = append_within(cursor, [batch], correction.decided_at)
        if answer.accepted + answer.duplicate == 0:
            [problem] = answer.records
            raise UsageInvalid(problem.field, problem.reason)
        decision = {
            "quarantine_id": correction.quarantine_id,
            "decided_at": naive(correction.decided_at),
            "decided_by": correction.decided_by,
            "reason": correction.reason,
        }
        cursor.execute(read_sql("metering.store", "quarantine_resubmitted"), decision)
    return answer


def _corrected(cursor: duckdb.DuckDBPyConnection, correction: Correction) -> LegBatch:
    asked = {"quarantine_id": correction.quarantine_id}
    found = cursor.execute(read_sql("metering.store", "quarantine_read"), asked).fetchall()
    if not found:
        raise NotResubmittable(f"there is no record {correction.quarantine_id!r} in quarantine")
    kind, sender, known_id, original, decision = found[0]
    if kind != "rejected" or decision is not None:
        raise NotResubmittable(
            f"the record is {decision or kind}; only a rejected record that nobody has decided "
            "about can be corrected and stored"
        )
    row = usage_row(correction.record.encode(), f"quarantine:{correction.quarantine_id}")
    if row is None:
        raise UsageInvalid("record", "expected one JSON object, got nothing")
    foreign = is_foreign(row) and (known_id is None or row["event_id"] != known_id.hex)
    if not is_foreign(row) and known_id is not None:
        raise UsageInvalid("event_id", "keep the record's event_id: resends are known by it")
    if not is_foreign(row):
        row["event_id"] = event_id(FORMAT, original.encode())
    return LegBatch(table=_table(row), sender=sender, foreign=foreign)


def _table(row: dict[str, Any]) -> pa.Table:
    return pa.Table.from_batches([to_batch([row])])

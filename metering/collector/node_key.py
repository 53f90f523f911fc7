"""A node's credential writes for its own node only (docs/wire.md, Requests)."""

from dataclasses import replace
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from metering.collector.decode import Origin
from metering.errors import NotYours
from metering.store.batches import Batch

AnyBatch = TypeVar("AnyBatch", bound=Batch)


def bound_origin(origin: Origin, node_id: str) -> Origin:
    """`origin` for the credential of `node_id`: that node, unless its headers name another."""
    if origin.node not in {None, node_id}:
        raise _not_yours(node_id, str(origin.node))
    return replace(origin, node=node_id)


def bound_batch(batch: AnyBatch, node_id: str) -> AnyBatch:
    """`batch` of the credential of `node_id`: rows that name no node get it, others are refused."""
    nodes = batch.table.column("node_id")
    nodes = pc.if_else(pc.equal(nodes, ""), pa.scalar(None, pa.string()), nodes)
    named = {*pc.unique(pc.drop_null(nodes)).to_pylist(), *(r.node_id for r in batch.refused)}
    others = sorted(named - {None, node_id})
    if others:
        raise _not_yours(node_id, others[0])
    place = batch.table.schema.get_field_index("node_id")
    field = batch.table.schema.field(place)
    table = batch.table.set_column(place, field, pc.fill_null(nodes, node_id))
    return replace(batch, table=table)


def _not_yours(own: str, other: str) -> NotYours:
    return NotYours(
        f"this key belongs to node {own!r}, but usage of node {other[:100]!r} was sent: use that "
        "node's key, or set the sidecar's node to the key's"
    )

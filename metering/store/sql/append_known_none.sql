-- append_known_none: an empty table of what the store already holds of this batch
-- grain:   event_id
CREATE OR REPLACE TEMP TABLE known (
    event_id     UUID,
    content_hash UUID,
    node_id      VARCHAR,
    tenant_id    VARCHAR,
    owned        BOOLEAN  -- node_id and tenant_id are those of the stored leg
)

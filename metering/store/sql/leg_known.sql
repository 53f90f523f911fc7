-- leg_known: legs of the batch that are stored already, looked for in one time range
-- grain:   event_id
-- window:  finished_at in $first_at..$last_at, inclusive: constants, so that zone maps skip the rest
-- why group: on DuckLake a resend may lie in leg twice; the first stands
INSERT INTO known
SELECT
    event_id,
    arg_min(content_hash, ingest_seq),
    arg_min_null(node_id, ingest_seq),
    arg_min_null(tenant_id, ingest_seq),
    true
FROM leg
WHERE finished_at BETWEEN $first_at AND $last_at
  AND event_id IN (SELECT event_id FROM verdict WHERE fault IS NULL)
GROUP BY event_id

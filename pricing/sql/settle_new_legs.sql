-- settle_new_legs: legs that no batch has settled yet → temp table candidate
-- grain:  one row per leg
-- window: ingest_seq in ($from_seq, $to_seq]
-- why an explicit list: candidate, pending and the settler's copies have these columns, in this order
CREATE OR REPLACE TEMP TABLE candidate AS
SELECT
    ingest_seq, event_id, content_hash, key_hash, engine_request_id, stage, operation, join_key, group_id,
    group_size,
    node_id, pool, tenant_id, project_id, api_key_id, model_id, started_at, finished_at,
    input_tokens, cached_input_tokens, cached_explicit_tokens, cache_write_tokens,
    cache_write_1h_tokens, output_tokens, reasoning_tokens, status, service_tier, region,
    retractions, ingested_at AS arrived_at, false AS orphaned
FROM leg
WHERE ingest_seq > $from_seq
  AND ingest_seq <= $to_seq
  AND stage <> 'gateway'

-- settle_add_settled: legs of keys that settled before and are named again → candidate
-- grain: one row per leg
INSERT INTO candidate
SELECT
    ingest_seq, event_id, content_hash, key_hash, engine_request_id, stage, operation, join_key, group_id,
    group_size,
    node_id, pool, tenant_id, project_id, api_key_id, model_id, started_at, finished_at,
    input_tokens, cached_input_tokens, cached_explicit_tokens, cache_write_tokens,
    cache_write_1h_tokens, output_tokens, reasoning_tokens, status, service_tier, region,
    retractions, ingested_at AS arrived_at, false AS orphaned
FROM leg
WHERE key_hash IN (SELECT key_hash FROM hit_key)
  AND ingest_seq <= $from_seq
  AND stage <> 'gateway'
  AND event_id NOT IN (SELECT event_id FROM candidate)

-- settle_add_gated: legs whose gateway record has come in this batch, after they had settled → candidate
-- grain:  one row per leg
-- window: within an hour of the gateway records (docs/engines/gateways.md)
INSERT INTO candidate
WITH gateway AS (
    SELECT engine_request_id, finished_at
    FROM leg
    WHERE ingest_seq > $from_seq
      AND ingest_seq <= $to_seq
      AND stage = 'gateway'
      AND engine_request_id IS NOT NULL
)
SELECT
    ingest_seq, event_id, content_hash, key_hash, engine_request_id, stage, operation, join_key, group_id,
    group_size, node_id, pool, tenant_id, project_id, api_key_id, model_id, started_at, finished_at,
    input_tokens, cached_input_tokens, cached_explicit_tokens, cache_write_tokens,
    cache_write_1h_tokens, output_tokens, reasoning_tokens, status, service_tier, region,
    retractions, ingested_at AS arrived_at, false AS orphaned
FROM leg
WHERE engine_request_id IN (SELECT engine_request_id FROM gateway)
  AND stage IN ('decode', 'unified')
  AND ingest_seq <= $from_seq
  AND finished_at BETWEEN (SELECT min(finished_at) FROM gateway) - INTERVAL 1 HOUR
                      AND (SELECT max(finished_at) FROM gateway) + INTERVAL 1 HOUR
  AND event_id NOT IN (SELECT event_id FROM candidate)
  AND event_id NOT IN (SELECT event_id FROM pending)

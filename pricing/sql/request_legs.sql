-- request_legs: the legs of one request, and what else its key left behind (retries)
-- grain:  event_id
-- units:  *_tokens in tokens; *_seconds in seconds
-- window: finished in [$start_at, $end_at): around the request, so that days are skipped unread
-- scope:  legs that are not the request's own are of a tenant inside the scope (a key can be forged)
SELECT
    event_id::VARCHAR AS event_id,
    stage, status, node_id, pool, engine, engine_version, model_id, started_at, finished_at,
    input_tokens, cached_input_tokens, output_tokens, reasoning_tokens,
    queue_seconds, prefill_seconds, ttft_seconds, decode_seconds, e2e_seconds, kv_transfer_seconds,
    source, source_position, ingested_at
FROM leg
WHERE finished_at >= $start_at
  AND finished_at < $end_at
  AND (
    event_id IN (SELECT unnest($leg_ids::UUID[]))
    OR (key_hash = $key_hash AND ($every_tenant OR tenant_id = $tenant_id))
  )
QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY ingest_seq) = 1
ORDER BY started_at, event_id
LIMIT $rows_max

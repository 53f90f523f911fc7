-- settle_add_gateway: new gateway records that are the bill of their model or pool → candidate
-- grain:  one row per leg
-- window: ingest_seq in ($from_seq, $to_seq]
-- policy_scope (registered): a model's billing source goes before its pool's, else $billing_source
INSERT INTO candidate
SELECT
    l.ingest_seq, l.event_id, l.content_hash, l.key_hash, l.engine_request_id, l.stage, l.operation,
    l.join_key, l.group_id, l.group_size, l.node_id, l.pool, l.tenant_id, l.project_id, l.api_key_id,
    l.model_id, l.started_at, l.finished_at, l.input_tokens, l.cached_input_tokens,
    l.cached_explicit_tokens, l.cache_write_tokens, l.cache_write_1h_tokens, l.output_tokens,
    l.reasoning_tokens, l.status, l.service_tier, l.region, l.retractions, l.ingested_at, false
FROM leg AS l
LEFT JOIN policy_scope AS m
  ON m.scope = 'model' AND m.name = l.model_id AND m.question = 'billing_source'
LEFT JOIN policy_scope AS p
  ON p.scope = 'pool' AND p.name = l.pool AND p.question = 'billing_source'
WHERE l.ingest_seq > $from_seq
  AND l.ingest_seq <= $to_seq
  AND l.stage = 'gateway'
  AND coalesce(m.decision, p.decision, $billing_source) = 'gateway'

-- settle_odd_legs: legs of the keys that settle_outcomes.sql left to metering/pairing.py
-- grain: one row per leg, the legs of one real key together
SELECT
    c.key_hash, coalesce(c.pool, '') AS pool, coalesce(c.group_id, '') AS group_id,
    coalesce(c.join_key, '') AS join_key, c.event_id::VARCHAR AS event_id, c.stage, c.status,
    c.started_at, c.finished_at, c.input_tokens, c.output_tokens, c.group_size, c.orphaned,
    c.tenant_id, c.api_key_id
FROM candidate AS c
WHERE c.key_hash IS NOT NULL
  AND c.key_hash NOT IN (SELECT key_hash FROM outcome WHERE key_hash IS NOT NULL)
ORDER BY c.key_hash, c.stage = 'unified', pool, CASE WHEN c.stage = 'unified' THEN group_id ELSE join_key END,
         c.finished_at, c.event_id

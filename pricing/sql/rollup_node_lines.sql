-- rollup_node_lines: the lines each node earned (earned_lines.sql), as deltas of node_hourly
-- grain: bucket as in usage_hourly, so that both sum up alike; node, stage, pool, model, disposition, reason, price key, flags
INSERT INTO node_hourly
SELECT
    CASE
        WHEN q.tenant_id IS NULL THEN date_trunc('hour', s.billing_at)
        ELSE time_bucket(INTERVAL 15 MINUTE, s.billing_at)
    END AS hour_start_at,
    node_id, stage, pool, model_id, disposition, reason, price_key, flags,
    sum(requests)::BIGINT,
    sum(uncached_tokens)::BIGINT, sum(cached_tokens)::BIGINT, sum(cached_explicit_tokens)::BIGINT,
    sum(cache_write_tokens)::BIGINT, sum(cache_write_1h_tokens)::BIGINT,
    sum(unsplit_tokens)::BIGINT, sum(output_tokens)::BIGINT, sum(reasoning_tokens)::BIGINT,
    0, 0, 0, 0, 0.0, 0.0, 0.0
FROM earned_lines('settled') AS s
LEFT JOIN directory_quarter AS q ON q.tenant_id = s.tenant_id
GROUP BY ALL

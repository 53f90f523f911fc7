-- rollup_node_lines: the lines each node earned, as deltas of node_hourly
-- grain: bucket as in usage_hourly, so that both sum up alike; node, stage, pool, model, disposition, reason, price key, flags
-- input lines belong to the node that prefilled, output lines to the node that decoded
INSERT INTO node_hourly
WITH bucketed AS (
    SELECT
        s.*,
        CASE
            WHEN q.tenant_id IS NULL THEN date_trunc('hour', s.billing_at)
            ELSE time_bucket(INTERVAL 15 MINUTE, s.billing_at)
        END AS bucket_at
    FROM settled AS s
    LEFT JOIN directory_quarter AS q ON q.tenant_id = s.tenant_id
)
SELECT
    hour_start_at, node_id, stage, pool, model_id, disposition, reason, price_key, flags,
    sum(requests)::BIGINT,
    sum(uncached_tokens)::BIGINT, sum(cached_tokens)::BIGINT, sum(cached_explicit_tokens)::BIGINT,
    sum(cache_write_tokens)::BIGINT, sum(cache_write_1h_tokens)::BIGINT,
    sum(unsplit_tokens)::BIGINT, sum(output_tokens)::BIGINT, sum(reasoning_tokens)::BIGINT,
    0, 0, 0, 0, 0.0, 0.0, 0.0
FROM (
    SELECT
        bucket_at AS hour_start_at, input_node_id AS node_id,
        input_stage AS stage, pool, model_id, disposition, reason, price_key, flags,
        sign * request_count AS requests,
        sign * uncached_tokens AS uncached_tokens, sign * cached_tokens AS cached_tokens,
        sign * cached_explicit_tokens AS cached_explicit_tokens,
        sign * cache_write_tokens AS cache_write_tokens,
        sign * cache_write_1h_tokens AS cache_write_1h_tokens,
        sign * unsplit_tokens AS unsplit_tokens,
        CASE WHEN output_node_id IS NOT DISTINCT FROM input_node_id AND output_stage = input_stage
             THEN sign * output_tokens ELSE 0 END AS output_tokens,
        CASE WHEN output_node_id IS NOT DISTINCT FROM input_node_id AND output_stage = input_stage
             THEN sign * reasoning_tokens ELSE 0 END AS reasoning_tokens
    FROM bucketed
    WHERE input_leg_id IS NOT NULL
    UNION ALL
    SELECT
        bucket_at, output_node_id, output_stage, pool, model_id, disposition,
        reason, price_key, flags, sign * request_count, 0, 0, 0, 0, 0, 0,
        sign * output_tokens, sign * reasoning_tokens
    FROM bucketed
    WHERE output_leg_id IS NOT NULL
      AND (input_leg_id IS NULL OR output_node_id IS DISTINCT FROM input_node_id
           OR output_stage <> input_stage)
)
GROUP BY ALL

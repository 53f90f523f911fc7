-- latency_groups: counts of one measure by bucket, per group
-- grain:  group_name, bucket, its edges
-- units:  requests, output tokens; bucket b holds up to 2^(b/8) milliseconds; where the edges are an
--         engine's own, more than above_seconds and at most up_to_seconds
-- window: UTC hours of the finish in [$start_at, $end_at)
-- $stage: prefill: what prefill servers measured themselves; delivering: what the servers that
--         delivered the answers did (decode, unified), so that no request counts twice
-- $model_id, $pool, $node_id: NULL for all
WITH node_stage AS (
    SELECT node_id, min(stage) AS stage
    FROM node_hourly
    WHERE hour_start_at >= $start_at AND hour_start_at < $end_at AND disposition = 'work'
    GROUP BY node_id
)
SELECT
    CASE $group_by
        WHEN 'model' THEN l.model_id
        WHEN 'pool' THEN l.pool
        WHEN 'node' THEN l.node_id
        WHEN 'hour' THEN strftime(l.hour_start_at, '%Y-%m-%dT%H:00:00Z')
        WHEN 'day' THEN strftime(l.hour_start_at, '%Y-%m-%d')
        ELSE 'all'
    END                           AS group_name,
    l.bucket,
    l.above_seconds,
    l.up_to_seconds,
    sum(l.requests)::BIGINT       AS requests,
    sum(l.output_tokens)::BIGINT  AS output_tokens
FROM latency_hourly AS l
LEFT JOIN node_stage AS s ON s.node_id IS NOT DISTINCT FROM l.node_id
WHERE l.hour_start_at >= $start_at AND l.hour_start_at < $end_at
  AND l.measure = $measure
  AND coalesce(s.stage = 'prefill', false) = ($stage = 'prefill')
  AND ($model_id IS NULL OR l.model_id = $model_id)
  AND ($pool IS NULL OR l.pool = $pool)
  AND ($node_id IS NULL OR l.node_id = $node_id)
GROUP BY ALL
HAVING sum(l.requests) <> 0 OR sum(l.output_tokens) <> 0
ORDER BY ALL

-- latency_groups: counts of one measure by log-spaced bucket, per group
-- grain:  group_name, bucket
-- units:  requests, output tokens; bucket b holds up to 2^(b/8) milliseconds
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
GROUP BY group_name, l.bucket
HAVING sum(l.requests) <> 0
ORDER BY group_name, l.bucket

-- latency_histogram: counts of one measure by log-spaced bucket, added over hours and servers
-- grain:  bucket
-- units:  requests, output tokens; bucket b holds up to 2^(b/8) milliseconds
-- window: UTC hours of the finish in [$start_at, $end_at)
-- $model_id, $pool, $node_id: NULL for all
SELECT bucket, sum(requests)::BIGINT AS requests, sum(output_tokens)::BIGINT AS output_tokens
FROM latency_hourly
WHERE hour_start_at >= $start_at AND hour_start_at < $end_at
  AND measure = $measure
  AND ($model_id IS NULL OR model_id = $model_id)
  AND ($pool IS NULL OR pool = $pool)
  AND ($node_id IS NULL OR node_id = $node_id)
GROUP BY bucket
HAVING sum(requests) <> 0
ORDER BY bucket

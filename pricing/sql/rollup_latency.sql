-- rollup_latency: log-spaced histogram counts, as deltas of latency_hourly
-- grain: UTC hour of the finish, model, pool, node, measure, bucket
-- units: bucket b holds durations in (2^((b-1)/8), 2^(b/8)] milliseconds; at most 1 ms: bucket 0
-- a gateway's record is of the same answer as the engines': it would count twice
INSERT INTO latency_hourly BY NAME
WITH timed AS (
    SELECT
        date_trunc('hour', finished_at) AS hour_start_at, model_id, pool, node_id,
        coalesce(output_tokens, 0) AS output_tokens,
        ttft_seconds,
        e2e_seconds,
        queue_seconds,
        CASE WHEN output_tokens > 1 AND stage <> 'prefill' THEN decode_seconds / (output_tokens - 1) END AS tpot_seconds
    FROM leg
    WHERE ingest_seq > $from_seq AND ingest_seq <= $to_seq AND status = 'ok' AND stage <> 'gateway'
),
measured AS (
    UNPIVOT timed
    ON ttft_seconds AS ttft, e2e_seconds AS e2e, queue_seconds AS queue, tpot_seconds AS tpot
    INTO NAME measure VALUE seconds
)
SELECT
    hour_start_at, model_id, pool, node_id, measure,
    CASE WHEN seconds <= 0.001 THEN 0 ELSE ceil(8 * log2(seconds * 1000))::INTEGER END AS bucket,
    count(*) AS requests, sum(output_tokens)::BIGINT AS output_tokens
FROM measured
WHERE seconds IS NOT NULL AND isfinite(seconds) AND seconds < 1e9
GROUP BY ALL

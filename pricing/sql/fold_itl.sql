-- fold_itl: engines' histograms of inter-token latency → latency_hourly, measure itl
-- grain:  UTC hour of the sample, model, pool, node, bucket between two edges of the engine
-- units:  intervals as output_tokens; edges in seconds
-- window: sampled_at in [$start_at, $end_at), whole hours that are over; each hour is folded once
-- a step is the difference of two scrapes of one engine; the row before the window gives the first
-- a sample without the histogram is passed over: the next one goes on from the last that has it
-- restarts: another epoch, or any count that fell (a bucket that is gone fell to 0): from 0 again
INSERT INTO latency_hourly BY NAME
WITH cumulative AS (
    SELECT
        *,
        list_sort(list_transform(map_entries(itl_by_bucket),
            lambda e: {'up_to_seconds': e.key::DOUBLE, 'counted': e.value})) AS edges
    FROM node_sample
    WHERE sampled_at >= $start_at - INTERVAL 1 HOUR
      AND sampled_at < $end_at
      AND itl_by_bucket IS NOT NULL
),
counted AS (
    SELECT
        *,
        map_from_entries(list_transform(edges, lambda e, i: {
            'k': {'above_seconds': coalesce(edges[i - 1].up_to_seconds, 0), 'up_to_seconds': e.up_to_seconds},
            'v': e.counted - coalesce(edges[i - 1].counted, 0)
        })) AS by_bucket
    FROM cumulative
),
ordered AS (
    SELECT
        *,
        lag(by_bucket) OVER w AS bucket_before,
        coalesce(counter_epoch <> lag(counter_epoch) OVER w, false)
          OR coalesce(counter_output_tokens < lag(counter_output_tokens) OVER w, false) AS is_new
    FROM counted
    WINDOW w AS (PARTITION BY node_id, source, model_id ORDER BY sampled_at)
),
started AS (
    SELECT
        *,
        CASE WHEN NOT is_new AND len(list_filter(map_entries(bucket_before),
            lambda b: coalesce(by_bucket[b.key], 0) < b.value)) = 0 THEN bucket_before END AS counted_before
    FROM ordered
    WHERE sampled_at >= $start_at AND bucket_before IS NOT NULL
),
stepped AS (
    SELECT
        date_trunc('hour', sampled_at) AS hour_start_at, model_id, pool, node_id,
        unnest(list_transform(map_entries(by_bucket), lambda b: {
            'bucket': b.key, 'counted': b.value - coalesce(counted_before[b.key], 0)
        })) AS step
    FROM started
)
SELECT
    hour_start_at, model_id, pool, node_id,
    'itl'                       AS measure,
    -1                          AS bucket,
    0                           AS requests,
    sum(step.counted)::BIGINT   AS output_tokens,
    step.bucket.above_seconds   AS above_seconds,
    step.bucket.up_to_seconds   AS up_to_seconds
FROM stepped
GROUP BY ALL
HAVING output_tokens > 0

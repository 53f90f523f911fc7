-- fold_samples: raw node samples → node_sample_hourly
-- grain:  UTC hour, node, source, stage, pool
-- window: sampled_at in [$start_at, $end_at), whole hours that are over; each hour is folded once
-- an engine that serves several models is sampled once for each of them
-- counters: a decrease, or another epoch, is a restart: the counter then counts from 0
-- energy: the counter's increase, else power × time to the next sample of the hour (at most 300 s)
-- the row before the window gives the first delta of its first hour
INSERT INTO node_sample_hourly
WITH ordered AS (
    SELECT
        *,
        lag(sampled_at) OVER w                       AS before_at,
        lag(power_watts) OVER w                      AS power_before,
        coalesce(counter_epoch <> lag(counter_epoch) OVER w, false)
          OR coalesce(counter_input_tokens < lag(counter_input_tokens) OVER w, false)
          OR coalesce(counter_output_tokens < lag(counter_output_tokens) OVER w, false)
          OR coalesce(counter_requests < lag(counter_requests) OVER w, false) AS is_restart,
        lag(counter_input_tokens) OVER w             AS input_before,
        lag(counter_cached_tokens) OVER w            AS cached_before,
        lag(counter_output_tokens) OVER w            AS output_before,
        lag(counter_requests) OVER w                 AS requests_before,
        lag(counter_aborted_requests) OVER w         AS aborted_before,
        lag(energy_joules) OVER w                    AS energy_before
    FROM node_sample
    WHERE sampled_at >= $start_at - INTERVAL 1 HOUR
      AND sampled_at < $end_at
    WINDOW w AS (PARTITION BY node_id, source, model_id ORDER BY sampled_at)
),
delta AS (
    SELECT
        date_trunc('hour', sampled_at) AS hour_start_at,
        *,
        CASE WHEN is_restart THEN counter_input_tokens ELSE counter_input_tokens - input_before END AS input_delta,
        CASE WHEN is_restart THEN counter_cached_tokens ELSE counter_cached_tokens - cached_before END AS cached_delta,
        CASE WHEN is_restart THEN counter_output_tokens ELSE counter_output_tokens - output_before END AS output_delta,
        CASE WHEN is_restart THEN counter_requests ELSE counter_requests - requests_before END AS requests_step,
        CASE WHEN is_restart THEN counter_aborted_requests ELSE counter_aborted_requests - aborted_before END AS aborted_step,
        CASE
            WHEN energy_joules >= energy_before THEN energy_joules - energy_before
            WHEN energy_joules IS NULL
                THEN (power_watts + power_before) / 2
                     * least(epoch(sampled_at) - epoch(before_at), 300)
        END AS energy_step
    FROM ordered
    WHERE sampled_at >= $start_at
)
SELECT
    hour_start_at, node_id, source, any_value(stage), any_value(pool), count(*),
    sum(running_requests), max(running_requests), sum(queued_requests), max(queued_requests),
    sum(kv_usage_ratio), max(kv_usage_ratio),
    sum(gpu_utilization_ratio), max(gpu_utilization_ratio),
    sum(power_watts), max(power_watts), sum(energy_step),
    count(*) FILTER (is_restart),
    sum(input_delta)::BIGINT, sum(cached_delta)::BIGINT, sum(output_delta)::BIGINT,
    sum(requests_step)::BIGINT, sum(aborted_step)::BIGINT
FROM delta
GROUP BY hour_start_at, node_id, source

-- reconcile_counters: how far the engines' own counters moved
-- grain:  node_id; hour_at (UTC, where $by_hour); model_id (where $by_model; NULL: /metrics names none)
-- units:  tokens, requests; NULL: the engine has no such counter, or it was seen only once
-- window: samples in [$start_at, $end_at); the sample before it is where the first step starts:
--         since_at, so that reconcile_legs looks at what these steps have counted
-- an engine that serves several models is sampled once for each of them
-- restarts: a decrease or another epoch means that the counter began at 0 again
-- a counter that one scrape did not show goes on from where it was last seen
-- finished_*: the part that belongs to finished requests; NULL where any step of it is unknown
-- the first sample ever of a node and model says only where its counters stand: its step is unknown
WITH ordered AS (
    SELECT
        *,
        lag(sampled_at) OVER w         AS before_at,
        lag(sampled_at) OVER w IS NULL AS is_first,
        coalesce(counter_epoch <> lag(counter_epoch) OVER w, false)
          OR coalesce(counter_input_tokens < lag(counter_input_tokens IGNORE NULLS) OVER w, false)
          OR coalesce(counter_output_tokens < lag(counter_output_tokens IGNORE NULLS) OVER w, false) AS is_restart,
        coalesce(lag(counter_input_tokens IGNORE NULLS) OVER w, 0)     AS input_before,
        coalesce(lag(counter_cached_tokens IGNORE NULLS) OVER w, 0)    AS cached_before,
        coalesce(lag(counter_output_tokens IGNORE NULLS) OVER w, 0)    AS output_before,
        coalesce(lag(counter_requests IGNORE NULLS) OVER w, 0)         AS requests_before,
        coalesce(lag(counter_aborted_requests IGNORE NULLS) OVER w, 0) AS aborted_before,
        lag(counter_finished_input_tokens) OVER w         AS finished_input_before,
        lag(counter_finished_output_tokens) OVER w        AS finished_output_before
    FROM node_sample
    WHERE sampled_at < $end_at
      AND (counter_input_tokens IS NOT NULL OR counter_output_tokens IS NOT NULL)
    WINDOW w AS (PARTITION BY node_id, source, model_id ORDER BY sampled_at)
),
stepped AS (
    SELECT
        *,
        counter_finished_input_tokens IS NOT NULL AND counter_finished_output_tokens IS NOT NULL
          AND (is_first OR is_restart
               OR (finished_input_before IS NOT NULL AND finished_output_before IS NOT NULL))
            AS knows_finished
    FROM ordered
)
SELECT
    node_id,
    CASE WHEN $by_hour THEN date_trunc('hour', sampled_at) END AS hour_at,
    CASE WHEN $by_model THEN model_id END                      AS model_id,
    any_value(stage)                    AS stage,
    any_value(pool)                     AS pool,
    min(before_at)                      AS since_at,
    count(*)                            AS samples,
    count(*) FILTER (is_restart)        AS restarts,
    max(sampled_at)                     AS last_sample_at,
    (sum(counter_input_tokens - CASE WHEN is_restart THEN 0 ELSE input_before END) FILTER (NOT is_first))::BIGINT AS input_tokens,
    (sum(counter_cached_tokens - CASE WHEN is_restart THEN 0 ELSE cached_before END) FILTER (NOT is_first))::BIGINT AS cached_tokens,
    (sum(counter_output_tokens - CASE WHEN is_restart THEN 0 ELSE output_before END) FILTER (NOT is_first))::BIGINT AS output_tokens,
    (sum(counter_requests - CASE WHEN is_restart THEN 0 ELSE requests_before END) FILTER (NOT is_first))::BIGINT AS requests,
    (sum(counter_aborted_requests - CASE WHEN is_restart THEN 0 ELSE aborted_before END) FILTER (NOT is_first))::BIGINT AS aborted_requests,
    CASE WHEN bool_and(knows_finished)
        THEN (sum(counter_finished_input_tokens - CASE WHEN is_restart THEN 0 ELSE finished_input_before END) FILTER (NOT is_first))::BIGINT
    END                                 AS finished_input_tokens,
    CASE WHEN bool_and(knows_finished)
        THEN (sum(counter_finished_output_tokens - CASE WHEN is_restart THEN 0 ELSE finished_output_before END) FILTER (NOT is_first))::BIGINT
    END                                 AS finished_output_tokens
FROM stepped
WHERE sampled_at >= $start_at
GROUP BY ALL
ORDER BY ALL

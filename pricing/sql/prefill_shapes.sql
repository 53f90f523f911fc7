-- prefill_shapes: prefill seconds by shape of prompt, for the regression of kappa
-- grain:  day, node_id, input_class, cached_class of one model
-- units:  requests, tokens, seconds of prefill computation
-- window: UTC days of the finish in [$start_at, $end_at)
SELECT
    sum(legs)::BIGINT                          AS requests,
    sum(input_tokens - cached_tokens)::BIGINT  AS uncached_tokens,
    sum(cached_tokens)::BIGINT                 AS cached_tokens,
    sum(prefill_seconds)                       AS prefill_seconds
FROM node_shape_daily
WHERE day >= $start_at AND day < $end_at AND model_id = $model_id
GROUP BY day, node_id, input_class, cached_class
HAVING sum(legs) > 0 AND sum(prefill_seconds) > 0
ORDER BY day, node_id, input_class, cached_class

-- context_classes: the mix of prompt lengths of one model, and how long prefill took
-- grain:  input_class (prompts of 2^class up to 2^(class + 1) tokens; -1: empty or unknown)
-- units:  legs, tokens, seconds of prefill computation
-- window: UTC days of the finish in [$start_at, $end_at)
-- $node_id: NULL for all servers
SELECT
    input_class,
    sum(legs)::BIGINT          AS legs,
    sum(input_tokens)::BIGINT  AS input_tokens,
    sum(cached_tokens)::BIGINT AS cached_tokens,
    sum(prefill_seconds)       AS prefill_seconds
FROM node_shape_daily
WHERE day >= $start_at AND day < $end_at
  AND model_id = $model_id
  AND ($node_id IS NULL OR node_id = $node_id)
GROUP BY input_class
HAVING sum(legs) <> 0
ORDER BY input_class

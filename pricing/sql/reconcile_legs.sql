-- reconcile_legs: what became of each server's legs
-- grain:  node_id, stage, pool, hour_at (UTC, where $by_hour), model_id, input_fate, output_fate
-- units:  tokens as the engine stated them; a count it did not state adds nothing
-- beam_*: what the engine counted for a beam search beyond the leg, which says what was answered
-- window: legs counted in [$start_at, $end_at): by the first counter sample of their node at or
--         after their finish; by their finish where none came within a day
-- $from_at: where the first steps of the counters start
-- fates:  billed, unpriced, held, undelivered, expired; a reason of cost; sample_prompt; not_yet_settled
-- a leg's request finished within 3 days of the leg, or the leg was not settled at all
WITH scrape AS (
    SELECT DISTINCT node_id, sampled_at
    FROM node_sample
    WHERE sampled_at >= $from_at
      AND sampled_at < $end_at + INTERVAL 1 DAY
      AND (counter_input_tokens IS NOT NULL OR counter_output_tokens IS NOT NULL)
),
counted AS (
    SELECT l.*, coalesce(s.sampled_at, l.finished_at) AS counted_at
    FROM leg AS l
    ASOF LEFT JOIN scrape AS s ON s.node_id = l.node_id AND s.sampled_at >= l.finished_at
    WHERE l.finished_at >= $from_at
      AND l.finished_at < $end_at
      AND l.stage <> 'gateway'
),
live AS (
    SELECT input_leg_id, output_leg_id, disposition, reason, part
    FROM request
    WHERE finished_at >= $from_at - INTERVAL 1 HOUR
      AND finished_at < $end_at + INTERVAL 3 DAY
    QUALIFY sum(sign) OVER (PARTITION BY request_id, part) > 0
        AND revision = max(revision) OVER (PARTITION BY request_id, part)
        AND sign = 1
),
as_input AS (
    SELECT input_leg_id AS event_id, CASE disposition WHEN 'cost' THEN reason ELSE disposition END AS fate
    FROM live
    WHERE input_leg_id IS NOT NULL
),
as_output AS (
    SELECT output_leg_id AS event_id, CASE disposition WHEN 'cost' THEN reason ELSE disposition END AS fate
    FROM live
    WHERE output_leg_id IS NOT NULL
)
SELECT
    l.node_id, l.stage, l.pool,
    CASE WHEN $by_hour THEN date_trunc('hour', l.counted_at) END AS hour_at,
    l.model_id,
    CASE
        WHEN i.fate IS NOT NULL                          THEN i.fate
        WHEN o.fate IS NOT NULL AND l.stage = 'unified'  THEN CASE o.fate WHEN 'billed' THEN 'sample_prompt' ELSE o.fate END
        WHEN o.fate IS NOT NULL                          THEN o.fate
        ELSE 'not_yet_settled'
    END AS input_fate,
    CASE
        WHEN o.fate IS NOT NULL THEN o.fate
        WHEN i.fate IS NOT NULL THEN i.fate
        ELSE 'not_yet_settled'
    END AS output_fate,
    count(*)                                       AS legs,
    coalesce(sum(l.input_tokens), 0)::BIGINT        AS input_tokens,
    coalesce(sum(l.cached_input_tokens), 0)::BIGINT AS cached_tokens,
    coalesce(sum(l.output_tokens), 0)::BIGINT       AS output_tokens,
    coalesce(sum(try_cast(l.labels['engine_input_tokens'] AS BIGINT) - l.input_tokens)
        FILTER (l.source = 'vllm_stats'), 0)::BIGINT  AS beam_input_tokens,
    coalesce(sum(try_cast(l.labels['engine_output_tokens'] AS BIGINT) - l.output_tokens)
        FILTER (l.source = 'vllm_stats'), 0)::BIGINT AS beam_output_tokens
FROM counted AS l
LEFT JOIN as_input AS i ON i.event_id = l.event_id
LEFT JOIN as_output AS o ON o.event_id = l.event_id
WHERE l.counted_at >= $start_at
  AND l.counted_at < $end_at
GROUP BY ALL
ORDER BY ALL

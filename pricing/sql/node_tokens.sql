-- node_tokens: tokens that came to an answer, those that did not, and what the engine did in all
-- grain:  node_id, stage
-- units:  tokens; seconds summed over requests that ran side by side
-- window: bucket start in [$start_at, $end_at): lines by billing instant, work by finish
WITH line AS (
    SELECT
        *,
        uncached_tokens + cache_write_tokens + cache_write_1h_tokens + unsplit_tokens AS fresh,
        cached_tokens + cached_explicit_tokens                                        AS hit,
        output_tokens + reasoning_tokens                                              AS written,
        disposition IN ('cost', 'undelivered')                                        AS failed
    FROM node_hourly
    WHERE hour_start_at >= $start_at AND hour_start_at < $end_at
)
SELECT
    node_id, stage,
    sum(CASE WHEN failed THEN 0 ELSE fresh END)::BIGINT   AS delivered_uncached,
    sum(CASE WHEN failed THEN 0 ELSE hit END)::BIGINT     AS delivered_cached,
    sum(CASE WHEN failed THEN 0 ELSE written END)::BIGINT AS delivered_output,
    sum(CASE WHEN failed THEN fresh ELSE 0 END)::BIGINT   AS failed_uncached,
    sum(CASE WHEN failed THEN hit ELSE 0 END)::BIGINT     AS failed_cached,
    sum(CASE WHEN failed THEN written ELSE 0 END)::BIGINT AS failed_output,
    sum(work_input_tokens)::BIGINT                        AS work_input,
    sum(work_cached_tokens)::BIGINT                       AS work_cached,
    sum(work_output_tokens)::BIGINT                       AS work_output,
    sum(prefill_seconds + decode_seconds)                 AS request_seconds
FROM line
GROUP BY node_id, stage
ORDER BY ALL

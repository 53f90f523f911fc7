-- node_tokens: tokens of each server that came to an answer, and those that did not
-- grain:  node_id, stage
-- units:  tokens
-- $set_aside: the reason of answers that a gateway bills; they came, so their work is delivered, and
--             the gateway's record of them is no work
-- window: bucket start in [$start_at, $end_at), by billing instant
WITH line AS (
    SELECT
        *,
        uncached_tokens + cache_write_tokens + cache_write_1h_tokens + unsplit_tokens AS fresh,
        cached_tokens + cached_explicit_tokens                                        AS hit,
        output_tokens + reasoning_tokens                                              AS written,
        disposition = 'undelivered' OR (disposition = 'cost' AND reason IS DISTINCT FROM $set_aside) AS failed
    FROM node_hourly
    WHERE hour_start_at >= $start_at AND hour_start_at < $end_at AND disposition <> 'work'
      AND flags & $flag_billed_gateway = 0
)
SELECT
    node_id, stage,
    sum(CASE WHEN failed THEN 0 ELSE fresh END)::BIGINT   AS delivered_uncached,
    sum(CASE WHEN failed THEN 0 ELSE hit END)::BIGINT     AS delivered_cached,
    sum(CASE WHEN failed THEN 0 ELSE written END)::BIGINT AS delivered_output,
    sum(CASE WHEN failed THEN fresh ELSE 0 END)::BIGINT   AS failed_uncached,
    sum(CASE WHEN failed THEN hit ELSE 0 END)::BIGINT     AS failed_cached,
    sum(CASE WHEN failed THEN written ELSE 0 END)::BIGINT AS failed_output
FROM line
GROUP BY node_id, stage
ORDER BY ALL

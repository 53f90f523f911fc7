-- node_hours: billed tokens and money of each server hour by hour
-- grain:  UTC hour, node_id, stage, currency
-- units:  tokens; amount exact, in `currency`
-- window: bucket start in [$start_at, $end_at), by billing instant
-- $node_id: NULL for all
SELECT
    date_trunc('hour', hour_start_at)                                            AS hour_start_at,
    node_id, stage, currency,
    sum(requests)::BIGINT                                                        AS requests,
    sum(uncached_tokens + cached_tokens + cached_explicit_tokens
        + cache_write_tokens + cache_write_1h_tokens)::BIGINT                    AS input_tokens,
    sum(cached_tokens + cached_explicit_tokens)::BIGINT                          AS cached_tokens,
    sum(output_tokens + reasoning_tokens)::BIGINT                                AS output_tokens,
    sum(amount)::DECIMAL(38, 15)                                                 AS revenue
FROM node_money
WHERE hour_start_at >= $start_at AND hour_start_at < $end_at
  AND disposition = 'billed'
  AND ($node_id IS NULL OR node_id = $node_id)
GROUP BY ALL
HAVING sum(requests) <> 0 OR sum(amount) <> 0
ORDER BY ALL
LIMIT $rows_max

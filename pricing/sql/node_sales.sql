-- node_sales: billed tokens and money of the lines of some servers
-- grain:  currency
-- units:  tokens; amounts exact, in `currency`
-- window: bucket start in [$start_at, $end_at), by billing instant
-- $node_ids: the servers that are taken as one
SELECT
    currency,
    sum(uncached_tokens + cache_write_tokens + cache_write_1h_tokens)::BIGINT AS uncached_tokens,
    sum(cached_tokens + cached_explicit_tokens)::BIGINT                       AS cached_tokens,
    sum(output_tokens + reasoning_tokens)::BIGINT                             AS output_tokens,
    sum(input_amount + cache_write_amount)::DECIMAL(38, 15)                   AS uncached_amount,
    sum(cached_amount)::DECIMAL(38, 15)                                       AS cached_amount,
    sum(output_amount + reasoning_amount)::DECIMAL(38, 15)                    AS output_amount
FROM node_money
WHERE hour_start_at >= $start_at AND hour_start_at < $end_at
  AND disposition = 'billed' AND list_contains($node_ids::VARCHAR[], node_id)
GROUP BY currency
HAVING sum(requests) <> 0
ORDER BY currency

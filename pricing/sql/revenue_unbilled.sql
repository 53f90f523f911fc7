-- revenue_unbilled: work of each server that is not revenue, by why
-- grain:  node_id, stage, disposition, reason
-- units:  tokens of the lines this server would have earned; amounts at the price in force, exact
-- window: billing instant in [$start_at, $end_at), of exact_earned_money
SELECT
    node_id, stage, disposition, reason, currency,
    sum(requests)::BIGINT AS requests,
    sum(uncached_tokens + cached_tokens + cached_explicit_tokens + cache_write_tokens
        + cache_write_1h_tokens + unsplit_tokens)::BIGINT AS input_tokens,
    sum(output_tokens + reasoning_tokens)::BIGINT         AS output_tokens,
    sum(amount + unsplit_amount_min)::DECIMAL(38, 15)     AS amount_min,
    sum(amount + unsplit_amount_max)::DECIMAL(38, 15)     AS amount_max
FROM exact_earned_money
WHERE hour_start_at >= $start_at
  AND hour_start_at < $end_at
  AND disposition NOT IN ('billed', 'work')
GROUP BY node_id, stage, disposition, reason, currency
HAVING sum(requests) <> 0
ORDER BY ALL

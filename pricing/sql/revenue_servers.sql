-- revenue_servers: billed tokens and their amount by the server that earned them
-- grain:  node_id, stage, pool, price_key
-- units:  tokens; amount exact, in the key's currency
-- window: billing instant in [$start_at, $end_at), of exact_earned_money
SELECT
    n.node_id, n.stage, n.pool, k.currency, n.price_key,
    sum(n.requests)::BIGINT               AS requests,
    sum(n.uncached_tokens)::BIGINT        AS uncached,
    sum(n.cached_tokens)::BIGINT          AS cached,
    sum(n.cached_explicit_tokens)::BIGINT AS cached_explicit,
    sum(n.cache_write_tokens)::BIGINT     AS cache_write,
    sum(n.cache_write_1h_tokens)::BIGINT  AS cache_write_1h,
    sum(n.output_tokens)::BIGINT          AS output,
    sum(n.reasoning_tokens)::BIGINT       AS reasoning,
    any_value(k.input_price)           AS input_price,
    any_value(k.cached_price)          AS cached_price,
    any_value(k.cached_explicit_price) AS cached_explicit_price,
    any_value(k.cache_write_price)     AS cache_write_price,
    any_value(k.cache_write_1h_price)  AS cache_write_1h_price,
    any_value(k.output_price)          AS output_price,
    any_value(k.reasoning_price)       AS reasoning_price,
    sum(n.amount)::DECIMAL(38, 15)     AS amount
FROM exact_earned_money AS n
JOIN price_key AS k USING (price_key)
WHERE n.hour_start_at >= $start_at
  AND n.hour_start_at < $end_at
  AND n.disposition = 'billed'
GROUP BY n.node_id, n.stage, n.pool, k.currency, n.price_key
HAVING sum(n.requests) <> 0 OR sum(n.amount) <> 0
ORDER BY ALL

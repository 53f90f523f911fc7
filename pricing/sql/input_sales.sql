-- input_sales: billed input of one model, misses and hits
-- grain:  currency
-- units:  tokens; amounts exact, in `currency`
-- window: bucket start in [$start_at, $end_at), by billing instant
SELECT
    currency,
    sum(uncached_tokens + cache_write_tokens + cache_write_1h_tokens)::BIGINT AS uncached_tokens,
    sum(cached_tokens + cached_explicit_tokens)::BIGINT                       AS cached_tokens,
    sum(input_amount + cache_write_amount)::DECIMAL(38, 15)                   AS uncached_amount,
    sum(cached_amount)::DECIMAL(38, 15)                                       AS cached_amount
FROM usage_money
WHERE bucket_at >= $start_at AND bucket_at < $end_at
  AND disposition = 'billed' AND model_id = $model_id
GROUP BY currency
HAVING sum(requests) <> 0
ORDER BY currency

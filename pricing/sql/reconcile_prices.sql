-- reconcile_prices: the lowest and highest price of each model's tokens in the window
-- grain:  model_id, currency
-- units:  per million tokens
-- window: bucket start in [$start_at, $end_at)
SELECT
    u.model_id, k.currency,
    min(least(k.input_price, k.cached_price))    AS input_price_min,
    max(greatest(k.input_price, k.cached_price)) AS input_price_max,
    min(k.output_price)                          AS output_price_min,
    max(k.output_price)                          AS output_price_max
FROM usage_hourly AS u
JOIN price_key AS k USING (price_key)
WHERE u.bucket_at >= $start_at
  AND u.bucket_at < $end_at
GROUP BY u.model_id, k.currency
ORDER BY ALL

-- findings_unattributed: usage that names no tenant
-- grain:  model, currency
-- units:  tokens; amounts exact, in `currency`, between amount_min and amount_max
-- window: bucket start in [$start_at, $end_at), by billing instant
-- scope:  the house alone asks
SELECT
    model_id, currency,
    sum(requests)::BIGINT AS requests,
    sum(uncached_tokens + cached_tokens + cached_explicit_tokens + cache_write_tokens
        + cache_write_1h_tokens + unsplit_tokens)::BIGINT AS input_tokens,
    sum(output_tokens + reasoning_tokens)::BIGINT         AS output_tokens,
    sum(amount + unsplit_amount_min)::DECIMAL(38, 15)     AS amount_min,
    sum(amount + unsplit_amount_max)::DECIMAL(38, 15)     AS amount_max
FROM usage_money
WHERE bucket_at >= $start_at
  AND bucket_at < $end_at
  AND disposition <> 'cost'
  AND tenant_id IS NULL
GROUP BY ALL
HAVING sum(requests) <> 0
ORDER BY ALL

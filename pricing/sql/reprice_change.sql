-- reprice_change: what a day's new prices change, by tenant
-- grain: tenant_id, currency
-- units: requests; exact amounts
SELECT
    s.tenant_id, k.currency,
    count(*) FILTER (s.sign = 1)                                            AS requests,
    sum(s.sign * CASE WHEN s.disposition = 'billed' THEN
        charge(s.uncached_tokens, k.input_price) + charge(s.cached_tokens, k.cached_price)
        + charge(s.cached_explicit_tokens, k.cached_explicit_price)
        + charge(s.cache_write_tokens, k.cache_write_price)
        + charge(s.cache_write_1h_tokens, k.cache_write_1h_price)
        + charge(s.output_tokens, k.output_price)
        + charge(s.reasoning_tokens, k.reasoning_price) ELSE 0 END)::DECIMAL(38, 15) AS amount
FROM settled AS s
JOIN price_key AS k ON k.price_key = s.price_key
GROUP BY ALL
ORDER BY ALL

-- rerate_change: what a day's rows change for each tenant
-- grain: tenant_id, currency (NULL: requests without a price)
-- units: requests; exact amounts of what is billed
SELECT
    s.tenant_id, k.currency,
    coalesce(sum(s.request_count) FILTER (s.sign = 1), 0)::BIGINT AS requests,
    coalesce(sum(charged) FILTER (s.sign = -1), 0)::DECIMAL(38, 15) AS amount_before,
    coalesce(sum(charged) FILTER (s.sign = 1), 0)::DECIMAL(38, 15)  AS amount_after
FROM settled AS s
LEFT JOIN price_key AS k ON k.price_key = s.price_key
CROSS JOIN LATERAL (
    SELECT CASE WHEN s.disposition = 'billed' THEN
        charge(s.uncached_tokens, k.input_price) + charge(s.cached_tokens, k.cached_price)
        + charge(s.cached_explicit_tokens, k.cached_explicit_price)
        + charge(s.cache_write_tokens, k.cache_write_price)
        + charge(s.cache_write_1h_tokens, k.cache_write_1h_price)
        + charge(s.output_tokens, k.output_price)
        + charge(s.reasoning_tokens, k.reasoning_price) ELSE 0 END AS charged
)
GROUP BY s.tenant_id, k.currency
HAVING requests > 0 OR amount_before <> 0
ORDER BY ALL

-- metrics_usage: everything that was ever settled, for charts of a monitoring system
-- grain:  model, disposition, currency
-- units:  requests, tokens; amount exact, in `currency`
-- scope:  the house alone asks; no tenant is in it
SELECT
    model_id, disposition, coalesce(currency, '') AS currency,
    sum(requests)::BIGINT                                       AS requests,
    sum(uncached_tokens + unsplit_tokens)::BIGINT               AS uncached,
    sum(cached_tokens + cached_explicit_tokens)::BIGINT         AS cached,
    sum(cache_write_tokens + cache_write_1h_tokens)::BIGINT     AS cache_write,
    sum(output_tokens)::BIGINT                                  AS output,
    sum(reasoning_tokens)::BIGINT                               AS reasoning,
    coalesce(sum(amount + unsplit_amount_min), 0)::DECIMAL(38, 15) AS amount
FROM usage_money
GROUP BY ALL
ORDER BY ALL

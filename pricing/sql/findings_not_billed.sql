-- findings_not_billed: usage that earned nothing yet, and the money that depends on it
-- grain:  tenant, model, disposition, reason, currency
-- units:  tokens; amounts exact, in `currency`, between amount_min and amount_max
-- window: bucket start in [$start_at, $end_at), by billing instant
-- scope:  $every_tenant, or the tenant $tenant_id (pricing/scope.py)
SELECT
    tenant_id, model_id, disposition, coalesce(reason, disposition) AS reason, currency,
    sum(requests)::BIGINT AS requests,
    sum(uncached_tokens + cached_tokens + cached_explicit_tokens + cache_write_tokens
        + cache_write_1h_tokens + unsplit_tokens)::BIGINT AS input_tokens,
    sum(output_tokens + reasoning_tokens)::BIGINT         AS output_tokens,
    sum(amount + unsplit_amount_min)::DECIMAL(38, 15)     AS amount_min,
    sum(amount + unsplit_amount_max)::DECIMAL(38, 15)     AS amount_max
FROM usage_money
WHERE bucket_at >= $start_at
  AND bucket_at < $end_at
  AND disposition IN ('unpriced', 'held', 'undelivered')
  AND ($every_tenant OR tenant_id = $tenant_id)
GROUP BY ALL
HAVING sum(requests) <> 0
ORDER BY ALL

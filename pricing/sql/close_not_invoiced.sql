-- close_not_invoiced: usage of nobody that is registered; tenant NULL: it names no tenant
-- grain:  tenant, disposition, reason (NULL: priced, and nobody to bill), currency
-- units:  requests; tokens; amounts exact, in `currency`, between amount_min and amount_max
-- window: billing instant in [$start_at, $end_at); registered_tenant (registered): all known tenants
SELECT
    u.tenant_id, u.disposition,
    CASE WHEN u.disposition <> 'billed' THEN coalesce(u.reason, u.disposition) END AS reason,
    u.currency,
    sum(u.requests)::BIGINT                               AS requests,
    sum(u.uncached_tokens + u.cached_tokens + u.cached_explicit_tokens + u.cache_write_tokens
        + u.cache_write_1h_tokens + u.unsplit_tokens + u.output_tokens
        + u.reasoning_tokens)::BIGINT                     AS tokens,
    sum(u.amount + u.unsplit_amount_min)::DECIMAL(38, 15) AS amount_min,
    sum(u.amount + u.unsplit_amount_max)::DECIMAL(38, 15) AS amount_max
FROM exact_usage_money AS u
ANTI JOIN registered_tenant AS r ON r.tenant_id = u.tenant_id
WHERE u.disposition IN ('billed', 'unpriced', 'held', 'undelivered', 'expired')
  AND u.bucket_at >= $start_at
  AND u.bucket_at < $end_at
GROUP BY ALL
HAVING sum(u.requests) <> 0 OR sum(u.amount) <> 0
ORDER BY ALL

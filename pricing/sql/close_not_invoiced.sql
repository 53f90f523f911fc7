-- close_not_invoiced: billed usage of nobody that is registered; tenant NULL: it names no tenant
-- grain:  tenant, currency
-- units:  requests; amounts exact, in `currency`
-- window: bucket start in [$start_at, $end_at); registered_tenant (registered): all known tenants
SELECT
    u.tenant_id, u.currency,
    sum(u.requests)::BIGINT        AS requests,
    sum(u.amount)::DECIMAL(38, 15) AS amount
FROM usage_money AS u
ANTI JOIN registered_tenant AS r ON r.tenant_id = u.tenant_id
WHERE u.disposition = 'billed'
  AND u.bucket_at >= $start_at
  AND u.bucket_at < $end_at
GROUP BY ALL
HAVING sum(u.requests) <> 0 OR sum(u.amount) <> 0
ORDER BY ALL

-- rate_by_tenant: exact amount by the tenant who pays
-- grain: tenant_id
SELECT tenant_id, sum(amount)::DECIMAL(38, 15) AS amount
FROM usage_money
WHERE disposition = 'billed'
GROUP BY tenant_id
ORDER BY tenant_id

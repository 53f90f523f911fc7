-- settle_price_cases: what the catalogue must be asked for
-- grain: model_id, contract_tenant_id, service_tier, region; with the span of billing instants
SELECT
    model_id, contract_tenant_id, service_tier, region,
    min(billing_at) AS first_at, max(billing_at) AS last_at
FROM owned
WHERE disposition <> 'cost'
GROUP BY ALL

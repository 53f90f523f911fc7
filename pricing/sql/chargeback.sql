-- chargeback: who pays what, by line; and what is not billed, by why
-- grain:  tenant, project, cost centre, model, disposition, reason, currency
-- units:  as charged.sql
-- window: billing instant in [$start_at, $end_at)
-- $tenant_id: NULL for all tenants (the caller's scope decides, pricing/scope.py)
-- $owners: NULL for all of them; $unattributed: usage of nobody beside them
WITH chosen AS (
    FROM exact_usage
    WHERE bucket_at >= $start_at
      AND bucket_at < $end_at
      AND ($tenant_id IS NULL OR tenant_id = $tenant_id)
      AND ($owners IS NULL OR list_contains($owners::VARCHAR[], tenant_id)
           OR ($unattributed AND tenant_id IS NULL))
)
FROM charged('chosen', ['tenant_id', 'project_id', 'cost_centre_id', 'model_id', 'disposition', 'reason', 'currency'])
ORDER BY tenant_id, project_id, cost_centre_id, model_id, disposition, reason, currency

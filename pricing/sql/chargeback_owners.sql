-- chargeback_owners: who has usage in the window, unattributed last
-- grain:  tenant; NULL: unattributed
-- window: billing instant in [$start_at, $end_at)
-- $tenant_id: NULL for all tenants (the caller's scope decides, pricing/scope.py)
SELECT DISTINCT tenant_id
FROM exact_usage
WHERE bucket_at >= $start_at
  AND bucket_at < $end_at
  AND ($tenant_id IS NULL OR tenant_id = $tenant_id)
ORDER BY tenant_id

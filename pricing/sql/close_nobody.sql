-- close_nobody: whether a window has usage of tenants that are not registered, or of none
-- grain:  one row
-- window: billing instant in [$start_at, $end_at); registered_tenant (registered): all known tenants
SELECT count(*) > 0 AS is_found
FROM (
    SELECT DISTINCT tenant_id
    FROM exact_usage
    WHERE bucket_at >= $start_at
      AND bucket_at < $end_at
) AS u
ANTI JOIN registered_tenant AS r ON r.tenant_id = u.tenant_id

-- rerate_days: UTC days that hold requests of the months in rerate_scope (registered)
-- grain: day
SELECT DISTINCT r.billing_at::DATE AS day
FROM request AS r
JOIN rerate_scope AS s
  ON s.tenant_id = r.tenant_id
 AND r.billing_at >= s.start_at
 AND r.billing_at < s.end_at
WHERE r.disposition <> 'cost'
ORDER BY day

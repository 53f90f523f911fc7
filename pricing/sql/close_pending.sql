-- close_pending: halves of requests in the scope of a close that still wait for the other one
-- grain:  tenant
-- units:  legs
-- window: started in the month of close_scope (registered); halves given up do not wait any more
-- directory_key (registered): whose usage a key id is
SELECT s.tenant_id, count(*) AS legs
FROM pending AS p
LEFT JOIN directory_key AS k ON p.tenant_id IS NULL AND k.api_key_id = p.api_key_id
JOIN close_scope AS s
  ON s.tenant_id = coalesce(p.tenant_id, k.tenant_id)
 AND p.started_at >= s.start_at
 AND p.started_at < s.end_at
WHERE NOT p.orphaned
GROUP BY s.tenant_id
ORDER BY s.tenant_id

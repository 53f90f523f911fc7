-- close_conflicts: records that contradict one that was stored first, and nobody has decided
-- grain:  tenant
-- units:  records
-- window: finished in the month of close_scope (registered), or at a time that could not be read
SELECT s.tenant_id, count(*) AS records
FROM quarantine AS q
ANTI JOIN quarantine_decision AS d USING (quarantine_id)
JOIN close_scope AS s
  ON s.tenant_id = q.tenant_id
 AND (q.finished_at IS NULL OR (q.finished_at >= s.start_at AND q.finished_at < s.end_at))
WHERE q.kind = 'conflict'
GROUP BY s.tenant_id
ORDER BY s.tenant_id

-- findings_quarantine: records that were set aside and that nobody has decided about
-- grain:  kind, field, reason, tenant, node, model
-- units:  records
-- window: received in [$start_at, $end_at)
-- scope:  the house alone asks: a record that could not be read belongs to nobody yet
SELECT
    q.kind, q.field, q.reason, q.tenant_id, q.node_id, q.model_id,
    count(*)           AS records,
    min(q.received_at) AS first_at,
    max(q.received_at) AS last_at
FROM quarantine AS q
ANTI JOIN quarantine_decision AS d USING (quarantine_id)
WHERE q.received_at >= $start_at
  AND q.received_at < $end_at
GROUP BY ALL
ORDER BY records DESC, kind, field, reason, tenant_id, node_id, model_id
LIMIT $rows_max

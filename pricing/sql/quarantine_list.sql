-- quarantine_list: records that were set aside, with what was decided about them
-- grain:  quarantine_id
-- units:  record: JSON text as it came, at most 64 KiB
-- page:   after ($after_at, $after_id), in the order of arrival; before it where $backward
-- scope:  the house alone asks: a record that could not be read belongs to nobody yet
WITH listed AS (
    SELECT
        q.quarantine_id, q.kind, q.received_at, q.sender, q.event_id::VARCHAR AS event_id,
        q.tenant_id, q.node_id, q.model_id, q.field, q.reason, q.record, q.finished_at,
        max_by(d.decision, d.decided_at)   AS decision,
        max_by(d.reason, d.decided_at)     AS decision_reason,
        max_by(d.decided_by, d.decided_at) AS decided_by,
        max(d.decided_at)                  AS decided_at
    FROM quarantine AS q
    LEFT JOIN quarantine_decision AS d ON d.quarantine_id = q.quarantine_id
    WHERE ($quarantine_id IS NULL OR q.quarantine_id = $quarantine_id)
      AND ($kind IS NULL OR q.kind = $kind)
      AND ($after_at IS NULL
           OR (NOT $backward AND (q.received_at, q.quarantine_id) > ($after_at, $after_id))
           OR ($backward AND (q.received_at, q.quarantine_id) < ($after_at, $after_id)))
    GROUP BY ALL
    HAVING NOT $open_only OR count(d.decided_at) = 0
)
FROM listed
ORDER BY if($backward, NULL, received_at), if($backward, NULL, quarantine_id),
         received_at DESC, quarantine_id DESC
LIMIT $rows_max

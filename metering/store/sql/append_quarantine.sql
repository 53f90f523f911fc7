-- append_quarantine: findings → quarantine
-- grain:   quarantine_id = 128 bits of kind and record, so a resend lands once
-- window:  $received_at UTC
INSERT INTO quarantine
SELECT DISTINCT ON (left(sha256(outcome || chr(0) || text), 32))
    left(sha256(outcome || chr(0) || text), 32),
    outcome,
    $received_at,
    sender,
    event_id,
    tenant_id,
    node_id,
    model_id,
    field,
    reason,
    text,
    finished_at
FROM findings
WHERE left(sha256(outcome || chr(0) || text), 32) NOT IN (SELECT quarantine_id FROM quarantine)
ORDER BY row

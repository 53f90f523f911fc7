-- append_refused: records that could not be decoded (registered table `refused`) → quarantine
-- grain:   quarantine_id = 128 bits of kind and record, so a resend lands once
-- window:  $received_at UTC
INSERT INTO quarantine
SELECT DISTINCT ON (left(sha256('rejected' || chr(0) || record), 32))
    left(sha256('rejected' || chr(0) || record), 32),
    'rejected',
    $received_at,
    sender,
    NULL,
    tenant_id,
    node_id,
    model_id,
    field,
    reason,
    record,
    finished_at
FROM refused
WHERE left(sha256('rejected' || chr(0) || record), 32)
    NOT IN (SELECT quarantine_id FROM quarantine)

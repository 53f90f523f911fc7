-- quarantine_read: one record that was set aside, and whether somebody has decided about it
-- grain:   quarantine_id
SELECT
    q.kind,
    q.sender,
    q.event_id,
    q.record,
    (SELECT max_by(d.decision, d.decided_at)
     FROM quarantine_decision d
     WHERE d.quarantine_id = q.quarantine_id) AS decision
FROM quarantine q
WHERE q.quarantine_id = $quarantine_id

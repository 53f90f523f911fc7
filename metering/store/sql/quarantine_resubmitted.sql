-- quarantine_resubmitted: a corrected record was stored in place of the one set aside
-- grain:   decision
-- units:   $decided_at UTC
INSERT INTO quarantine_decision
VALUES ($quarantine_id, $decided_at, $decided_by, 'resubmitted', $reason)

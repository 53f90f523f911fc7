-- quarantine_decide: what a person decided about a record; earlier decisions stay
-- grain: quarantine_id, decided_at
INSERT INTO quarantine_decision BY NAME
SELECT
    $quarantine_id AS quarantine_id, $now AS decided_at, $decided_by AS decided_by,
    $decision AS decision, $reason AS reason
WHERE EXISTS (FROM quarantine WHERE quarantine_id = $quarantine_id)

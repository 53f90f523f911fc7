-- append_foreign_wanted: how many ids of senders' own choice are not among the stored legs found
-- grain:   one row
SELECT count(DISTINCT event_id)
FROM verdict
WHERE is_foreign
  AND fault IS NULL
  AND event_id NOT IN (SELECT event_id FROM known)

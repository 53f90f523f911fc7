-- append_foreign: claim the ids that senders chose; returns those that were still free
-- grain:   event_id; the primary key finds a repeat in any time range
INSERT INTO foreign_id
SELECT
    v.event_id,
    i.sender,
    i.event_id,
    v.content_hash
FROM verdict v
JOIN incoming i USING (row)
WHERE v.is_foreign
  AND v.row IN (SELECT min(row) FROM verdict WHERE fault IS NULL GROUP BY event_id)
  AND v.event_id NOT IN (SELECT event_id FROM known)
ON CONFLICT DO NOTHING
RETURNING event_id

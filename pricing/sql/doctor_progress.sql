-- doctor_progress: the settler's mark is one row and lies within what was stored
-- grain: one row
SELECT
    abs(count(*) - 1)
    + count(*) FILTER (settled_through_seq > (SELECT coalesce(max(ingest_seq), 0) FROM leg)) AS wrong
FROM progress

-- close_unsettled: legs that came in and are not settled yet
-- grain: one row
SELECT (SELECT coalesce(max(ingest_seq), 0) FROM leg) - settled_through_seq AS legs
FROM progress

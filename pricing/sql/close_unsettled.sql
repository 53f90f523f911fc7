-- close_unsettled: legs that came in, are not settled yet and may be billed in a month or before
-- grain:  one row
-- window: legs that started before $end_at; what starts later belongs to a later month
SELECT count(*) AS legs
FROM leg
WHERE ingest_seq > (SELECT settled_through_seq FROM progress)
  AND started_at < $end_at

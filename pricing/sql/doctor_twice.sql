-- doctor_twice: events that are stored more than once (docs/architecture.md, V3)
-- grain: one row
SELECT count(*) - count(DISTINCT event_id) AS wrong FROM leg

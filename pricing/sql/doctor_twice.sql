-- doctor_twice: events that are stored more than once (design V3)
-- grain: one row
SELECT count(*) - count(DISTINCT event_id) AS wrong FROM leg

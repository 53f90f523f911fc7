-- settle_pending: halves that go on waiting, and those given up that may still be completed
-- grain: one row per leg
INSERT INTO pending
SELECT c.* REPLACE (o.disposition <> 'waiting' AS orphaned)
FROM candidate AS c
JOIN outcome AS o ON o.request_id = c.event_id
WHERE o.disposition IN ('waiting', 'held', 'undelivered')

-- insert_requests: the batch's rows, in billing order
-- grain: request_id, part, revision, sign
INSERT INTO request BY NAME
SELECT *
FROM settled
ORDER BY billing_at

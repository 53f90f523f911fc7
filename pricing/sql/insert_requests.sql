-- insert_requests: the batch's rows
-- grain: request_id, part, revision, sign
INSERT INTO request BY NAME
SELECT *
FROM settled

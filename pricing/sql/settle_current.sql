-- settle_current: the request rows in force for the hit keys → temp table current_request
-- grain: request_id, part
CREATE OR REPLACE TEMP TABLE current_request AS
WITH live AS (
    SELECT request_id, part, max(revision) AS revision
    FROM request
    WHERE key_hash IN (SELECT key_hash FROM hit_key)
    GROUP BY request_id, part
    HAVING sum(sign) > 0
)
SELECT r.*
FROM request AS r
JOIN live USING (request_id, part, revision)
WHERE r.sign = 1

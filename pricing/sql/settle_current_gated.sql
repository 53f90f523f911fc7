-- settle_current_gated: the rows in force of unified legs that a gateway names now → current_request
-- grain: request_id, part
INSERT INTO current_request
SELECT *
FROM request
WHERE request_id IN (
    SELECT event_id FROM candidate WHERE key_hash IS NULL AND ingest_seq <= $from_seq
)
QUALIFY sum(sign) OVER (PARTITION BY request_id, part) > 0
    AND revision = max(revision) OVER (PARTITION BY request_id, part)
    AND sign = 1

-- rate_set_aside: conflicts and reattributions, with what can be read of their records
-- grain: quarantine_id
SELECT
    q.kind, coalesce(f.sender_id, replace(q.event_id::VARCHAR, '-', '')) AS event_id,
    json_extract_string(q.record, '$.join_key') AS request_id,
    q.tenant_id, q.model_id, q.field, q.reason,
    coalesce(TRY_CAST(json_extract_string(q.record, '$.input_tokens') AS BIGINT), 0)
      + coalesce(TRY_CAST(json_extract_string(q.record, '$.output_tokens') AS BIGINT), 0) AS tokens
FROM quarantine AS q
LEFT JOIN foreign_id AS f ON f.event_id = q.event_id
WHERE q.kind <> 'rejected'
ORDER BY q.received_at, q.quarantine_id

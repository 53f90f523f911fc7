-- rate_requests: the rows in force of the wanted dispositions, for `tokentill rate`
-- grain: request_id, part
-- units: tokens; amounts exact, in the key's currency
SELECT
    coalesce(f.sender_id, replace(r.request_id::VARCHAR, '-', '')) AS event_id,
    coalesce(r.join_key, l.engine_request_id, f.sender_id, replace(r.request_id::VARCHAR, '-', '')) AS request_id,
    r.part, r.tenant_id, r.project_id, r.model_id, r.disposition, r.reason, r.flags, r.price_key,
    r.input_node_id, r.output_node_id, r.output_known,
    r.input_leg_id IS NULL OR r.input_tokens IS NOT NULL AS input_known,
    r.uncached_tokens, r.cached_tokens, r.cached_explicit_tokens, r.cache_write_tokens,
    r.cache_write_1h_tokens, r.unsplit_tokens, r.output_tokens, r.reasoning_tokens
FROM (
    SELECT *
    FROM request
    QUALIFY sum(sign) OVER (PARTITION BY request_id, part) > 0
        AND revision = max(revision) OVER (PARTITION BY request_id, part)
) AS r
LEFT JOIN leg AS l ON l.event_id = r.request_id
LEFT JOIN foreign_id AS f ON f.event_id = r.request_id
WHERE r.sign = 1
  AND list_contains($dispositions, r.disposition)
ORDER BY r.billing_at, r.request_id, r.part

-- rate_requests: what each request pays, for `tokentill rate`
-- grain: request_id, part; only rows in force
-- units: tokens; exact amounts are computed from tokens and prices by pricing/rating.py
SELECT
    r.request_id::VARCHAR AS event_id, r.part, r.join_key, o.engine_request_id, r.tenant_id,
    r.project_id, r.model_id, r.disposition, r.reason, r.flags, r.billing_at,
    r.input_node_id, r.output_node_id, r.input_known, r.output_known, r.price_key,
    r.uncached_tokens, r.cached_tokens, r.cached_explicit_tokens, r.cache_write_tokens,
    r.cache_write_1h_tokens, r.unsplit_tokens, r.output_tokens, r.reasoning_tokens
FROM (
    SELECT *, input_tokens IS NOT NULL OR input_leg_id IS NULL AS input_known
    FROM request
    QUALIFY sum(sign) OVER (PARTITION BY request_id, part) > 0
        AND revision = max(revision) OVER (PARTITION BY request_id, part)
        AND sign = 1
) AS r
LEFT JOIN leg AS o ON o.event_id = r.request_id
WHERE r.disposition IN (SELECT unnest($dispositions))
ORDER BY r.billing_at, r.request_id, r.part

-- findings_gateway_check: what gateway records billed against the engine answers set aside as check
-- grain:  tenant, model; only where they differ
-- units:  requests, tokens; *_difference: gateway minus engines
-- window: bucket start in [$start_at, $end_at), by billing instant
-- scope:  the house alone asks
WITH told AS (
    SELECT
        tenant_id, model_id, requests,
        uncached_tokens + cached_tokens + cached_explicit_tokens + cache_write_tokens
            + cache_write_1h_tokens + unsplit_tokens AS input_tokens,
        output_tokens + reasoning_tokens             AS output_tokens,
        disposition <> 'cost'                        AS is_gateway
    FROM usage_hourly
    WHERE bucket_at >= $start_at
      AND bucket_at < $end_at
      AND ((disposition <> 'cost' AND flags & $flag_billed_gateway > 0) OR reason = $set_aside)
)
SELECT
    tenant_id, model_id,
    coalesce(sum(requests) FILTER (NOT is_gateway), 0)::BIGINT         AS requests,
    sum(CASE WHEN is_gateway THEN input_tokens ELSE -input_tokens END)::BIGINT   AS input_difference,
    sum(CASE WHEN is_gateway THEN output_tokens ELSE -output_tokens END)::BIGINT AS output_difference
FROM told
GROUP BY ALL
HAVING input_difference <> 0 OR output_difference <> 0
ORDER BY ALL

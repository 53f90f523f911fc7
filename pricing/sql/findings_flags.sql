-- findings_flags: requests that are settled but carry a flag, by flag
-- grain:  tenant, model, bit of the flag (pricing/flags.py)
-- units:  tokens
-- window: bucket start in [$start_at, $end_at), by billing instant
-- scope:  $every_tenant, or the tenant $tenant_id (pricing/scope.py)
SELECT
    u.tenant_id, u.model_id, b.bit,
    sum(u.requests)::BIGINT AS requests,
    sum(u.uncached_tokens + u.cached_tokens + u.cached_explicit_tokens + u.cache_write_tokens
        + u.cache_write_1h_tokens + u.unsplit_tokens)::BIGINT AS input_tokens,
    sum(u.output_tokens + u.reasoning_tokens)::BIGINT         AS output_tokens
FROM usage_hourly AS u
JOIN (SELECT unnest(range($flag_count::BIGINT)) AS bit) AS b ON (u.flags >> b.bit) & 1 = 1
WHERE u.flags <> 0
  AND u.bucket_at >= $start_at
  AND u.bucket_at < $end_at
  AND u.disposition <> 'cost'
  AND ($every_tenant OR u.tenant_id = $tenant_id)
GROUP BY ALL
HAVING sum(u.requests) <> 0
ORDER BY ALL

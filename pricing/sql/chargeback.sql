-- chargeback: who pays what, by line; and what is not billed, by why
-- grain:  tenant, project, cost centre, model, disposition, reason, currency
-- units:  tokens; amounts exact, in `currency`; for rows that are not billed: what is at stake
-- window: billing instant in [$start_at, $end_at)
-- $tenant_id: NULL for all tenants (the caller's scope decides, pricing/scope.py)
-- $owners: NULL for all of them; $unattributed: usage of nobody beside them
-- why summed: tokens of one price are added before they are priced; the amounts are the same
WITH summed AS (
    SELECT
        tenant_id, project_id, cost_centre_id, model_id, disposition, reason, price_key,
        sum(requests)::BIGINT               AS requests,
        sum(uncached_tokens)::BIGINT        AS uncached_tokens,
        sum(cached_tokens)::BIGINT          AS cached_tokens,
        sum(cached_explicit_tokens)::BIGINT AS cached_explicit_tokens,
        sum(cache_write_tokens)::BIGINT     AS cache_write_tokens,
        sum(cache_write_1h_tokens)::BIGINT  AS cache_write_1h_tokens,
        sum(unsplit_tokens)::BIGINT         AS unsplit_tokens,
        sum(output_tokens)::BIGINT          AS output_tokens,
        sum(reasoning_tokens)::BIGINT       AS reasoning_tokens
    FROM exact_usage
    WHERE bucket_at >= $start_at
      AND bucket_at < $end_at
      AND ($tenant_id IS NULL OR tenant_id = $tenant_id)
      AND ($owners IS NULL OR list_contains($owners::VARCHAR[], tenant_id)
           OR ($unattributed AND tenant_id IS NULL))
    GROUP BY ALL
)
SELECT
    tenant_id, project_id, cost_centre_id, model_id, disposition, reason, currency,
    sum(requests)::BIGINT                                   AS requests,
    sum(uncached_tokens)::BIGINT                            AS uncached_tokens,
    sum(cached_tokens + cached_explicit_tokens)::BIGINT     AS cached_tokens,
    sum(cache_write_tokens + cache_write_1h_tokens)::BIGINT AS cache_write_tokens,
    sum(unsplit_tokens)::BIGINT                             AS unsplit_tokens,
    sum(output_tokens)::BIGINT                              AS output_tokens,
    sum(reasoning_tokens)::BIGINT                           AS reasoning_tokens,
    sum(input_amount)::DECIMAL(38, 15)                      AS input_amount,
    sum(cached_amount)::DECIMAL(38, 15)                     AS cached_amount,
    sum(cache_write_amount)::DECIMAL(38, 15)                AS cache_write_amount,
    sum(output_amount)::DECIMAL(38, 15)                     AS output_amount,
    sum(reasoning_amount)::DECIMAL(38, 15)                  AS reasoning_amount,
    sum(amount + unsplit_amount_min)::DECIMAL(38, 15)       AS amount,
    sum(amount + unsplit_amount_max)::DECIMAL(38, 15)       AS amount_max
FROM priced('summed')
GROUP BY tenant_id, project_id, cost_centre_id, model_id, disposition, reason, currency
HAVING sum(requests) <> 0 OR sum(amount) <> 0
ORDER BY ALL

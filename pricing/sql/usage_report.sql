-- usage_report: tokens and money of a window, cut at the given edges and grouped as asked
-- grain:   edge, the groups that are asked for, disposition, currency; a group not asked for is NULL
-- units:   *_tokens in tokens; amounts exact, in `currency`: owed where disposition = 'billed', else
--          at stake, between amount and amount_max
-- window:  bucket start in [$start_at, $end_at), by billing instant; $edges: starts of the intervals
-- scope:   $every_tenant, or the tenant $tenant_id (pricing/scope.py)
-- why span: which interval a bucket is in is asked once for each quarter hour, not for each row
-- why summed: tokens of one price are added before they are priced; the amounts are the same
WITH edge AS (
    SELECT unnest($edges::TIMESTAMP[]) AS start_at
),
span AS (
    SELECT b.bucket_at, e.start_at
    FROM (
        SELECT unnest(range(date_trunc('hour', $start_at), $end_at, INTERVAL 15 MINUTE)) AS bucket_at
    ) AS b
    ASOF JOIN edge AS e ON b.bucket_at >= e.start_at
),
summed AS (
    SELECT
        b.start_at,
        CASE WHEN $by_tenant_id THEN u.tenant_id END           AS tenant_id,
        CASE WHEN $by_project_id THEN u.project_id END         AS project_id,
        CASE WHEN $by_cost_centre_id THEN u.cost_centre_id END AS cost_centre_id,
        CASE WHEN $by_model_id THEN u.model_id END             AS model_id,
        CASE WHEN $by_operation THEN u.operation END           AS operation,
        CASE WHEN $by_reason THEN u.reason END                 AS reason,
        u.disposition,
        u.price_key,
        sum(u.requests)::BIGINT               AS requests,
        sum(u.uncached_tokens)::BIGINT        AS uncached_tokens,
        sum(u.cached_tokens)::BIGINT          AS cached_tokens,
        sum(u.cached_explicit_tokens)::BIGINT AS cached_explicit_tokens,
        sum(u.cache_write_tokens)::BIGINT     AS cache_write_tokens,
        sum(u.cache_write_1h_tokens)::BIGINT  AS cache_write_1h_tokens,
        sum(u.unsplit_tokens)::BIGINT         AS unsplit_tokens,
        sum(u.output_tokens)::BIGINT          AS output_tokens,
        sum(u.reasoning_tokens)::BIGINT       AS reasoning_tokens
    FROM usage_hourly AS u
    JOIN span AS b USING (bucket_at)
    WHERE u.bucket_at >= $start_at
      AND u.bucket_at < $end_at
      AND ($every_tenant OR u.tenant_id = $tenant_id)
      AND ($project_id IS NULL OR u.project_id = $project_id)
      AND ($cost_centre_id IS NULL OR u.cost_centre_id = $cost_centre_id)
      AND ($model_id IS NULL OR u.model_id = $model_id)
      AND ($disposition IS NULL OR u.disposition = $disposition)
    GROUP BY ALL
)
SELECT
    start_at, tenant_id, project_id, cost_centre_id, model_id, operation, reason,
    CASE WHEN $by_entry THEN entry END               AS entry,
    CASE WHEN $by_context_tier THEN context_tier END AS context_tier,
    CASE WHEN $by_band THEN band END                 AS band,
    disposition, currency,
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
GROUP BY ALL
HAVING sum(requests) <> 0 OR sum(amount) <> 0
ORDER BY ALL
LIMIT $rows_max

-- usage_report: tokens and money of a window, cut at the given edges and grouped as asked
-- grain:   edge, the groups that are asked for, disposition, currency; a group not asked for is NULL
-- units:   *_tokens in tokens; amounts exact, in `currency`: owed where disposition = 'billed', else
--          at stake, between amount and amount_max
-- window:  bucket start in [$start_at, $end_at), by billing instant; $edges: starts of the intervals
-- scope:   $every_tenant, or the tenant $tenant_id (pricing/scope.py)
-- why span: which interval a bucket is in is asked once for each quarter hour, not for each row, and
--          not at all where there is but one
-- why COLUMNS: grouping by a column that is always NULL costs as much as by one that is not
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
spanned AS (
    SELECT $edges[1]::TIMESTAMP AS start_at, *
    FROM usage_hourly
    WHERE len($edges) = 1
    UNION ALL
    SELECT b.start_at, u.*
    FROM usage_hourly AS u
    JOIN span AS b USING (bucket_at)
    WHERE len($edges) > 1
),
summed AS (
    SELECT
        start_at,
        COLUMNS(lambda name: list_contains(['disposition', 'price_key'] || $groups::VARCHAR[], name)),
        sum(requests)::BIGINT               AS requests,
        sum(uncached_tokens)::BIGINT        AS uncached_tokens,
        sum(cached_tokens)::BIGINT          AS cached_tokens,
        sum(cached_explicit_tokens)::BIGINT AS cached_explicit_tokens,
        sum(cache_write_tokens)::BIGINT     AS cache_write_tokens,
        sum(cache_write_1h_tokens)::BIGINT  AS cache_write_1h_tokens,
        sum(unsplit_tokens)::BIGINT         AS unsplit_tokens,
        sum(output_tokens)::BIGINT          AS output_tokens,
        sum(reasoning_tokens)::BIGINT       AS reasoning_tokens
    FROM spanned
    WHERE bucket_at >= $start_at
      AND bucket_at < $end_at
      AND ($every_tenant OR tenant_id = $tenant_id)
      AND ($project_id IS NULL OR project_id = $project_id)
      AND ($cost_centre_id IS NULL OR cost_centre_id = $cost_centre_id)
      AND ($model_id IS NULL OR model_id = $model_id)
      AND ($disposition IS NULL OR disposition = $disposition)
    GROUP BY ALL
),
filled AS (
    SELECT
        NULL::VARCHAR AS tenant_id, NULL::VARCHAR AS project_id, NULL::VARCHAR AS cost_centre_id,
        NULL::VARCHAR AS model_id, NULL::VARCHAR AS operation, NULL::VARCHAR AS reason
    WHERE false
    UNION ALL BY NAME
    FROM summed
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
FROM priced('filled')
GROUP BY ALL
HAVING sum(requests) <> 0 OR sum(amount) <> 0
ORDER BY ALL
LIMIT $rows_max

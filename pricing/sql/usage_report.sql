-- usage_report: tokens and money of a window, cut at the given edges and grouped as asked
-- grain:   edge, the groups that are asked for, disposition, currency; a group not asked for is NULL
-- units:   as charged.sql
-- window:  bucket start in [$start_at, $end_at), by billing instant; $edges: starts of the intervals
-- scope:   $every_tenant, or the tenant $tenant_id (pricing/scope.py)
-- why span: which interval a bucket is in is asked once for each quarter hour, not for each row, and
--          not at all where there is but one
-- why NULL: grouping by a column that is always NULL costs as much as by one that is not
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
chosen AS (
    FROM spanned
    WHERE bucket_at >= $start_at
      AND bucket_at < $end_at
      AND ($every_tenant OR tenant_id = $tenant_id)
      AND ($project_id IS NULL OR project_id = $project_id)
      AND ($cost_centre_id IS NULL OR cost_centre_id = $cost_centre_id)
      AND ($model_id IS NULL OR model_id = $model_id)
      AND ($disposition IS NULL OR disposition = $disposition)
)
FROM (
    SELECT
        NULL::TIMESTAMP AS start_at, NULL::VARCHAR AS tenant_id, NULL::VARCHAR AS project_id,
        NULL::VARCHAR AS cost_centre_id, NULL::VARCHAR AS model_id, NULL::VARCHAR AS operation,
        NULL::VARCHAR AS reason, NULL::VARCHAR AS entry, NULL::VARCHAR AS context_tier,
        NULL::VARCHAR AS band, NULL::VARCHAR AS disposition, NULL::VARCHAR AS currency
    WHERE false
    UNION ALL BY NAME
    FROM charged('chosen', ['start_at', 'disposition', 'currency'] || $groups::VARCHAR[])
)
ORDER BY ALL
LIMIT $rows_max

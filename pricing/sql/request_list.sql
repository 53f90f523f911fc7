-- request_list: requests as they stand now, in the order of their billing instants
-- grain:   request_id; a request with samples on several nodes is one row, its parts added
-- units:   *_tokens in tokens; amounts exact, in `currency`: owed where disposition = 'billed', else
--          at stake, between amount and amount_max
-- window:  billing instant in [$start_at, $end_at)
-- scope:   $every_tenant, or the tenant $tenant_id (pricing/scope.py)
-- page:    after ($after_at, $after_id), or before it where $backward: the window begins or ends at
--          $after_at, and `passed` leaves out what shares that instant and was on a page before. The
--          billing instant of a request never changes, so rows that arrive meanwhile move no other
-- why two pages: one of them is empty before it runs, and the other stops early
-- why two scans: the first finds the page and stops early, the second reads its wide columns only
-- why passed is joined: a condition would stand between the scan and the limit, and read it all
WITH reversed AS (
    SELECT request_id, part, revision
    FROM request
    WHERE billing_at >= $start_at
      AND billing_at < $end_at
      AND sign = -1
),
passed AS (
    SELECT request_id
    FROM request
    WHERE billing_at = $after_at
      AND if($backward, request_id >= $after_id::UUID, request_id <= $after_id::UUID)
),
found AS NOT MATERIALIZED (
    SELECT request_id, billing_at
    FROM request AS r
    ANTI JOIN reversed USING (request_id, part, revision)
    ANTI JOIN passed USING (request_id)
    WHERE billing_at >= $start_at
      AND billing_at < $end_at
      AND sign = 1
      AND part = 0
      AND ($every_tenant OR tenant_id = $tenant_id)
      AND ($project_id IS NULL OR project_id = $project_id)
      AND ($model_id IS NULL OR model_id = $model_id)
      AND ($disposition IS NULL OR disposition = $disposition)
      AND ($flag_bit IS NULL OR flags & $flag_bit <> 0)
),
forward AS (
    FROM found
    WHERE NOT $backward
    ORDER BY billing_at, request_id
    LIMIT $rows_max
),
backward AS (
    FROM found
    WHERE $backward
    ORDER BY billing_at DESC, request_id DESC
    LIMIT $rows_max
),
page AS (
    FROM forward UNION ALL FROM backward
)
SELECT
    m.request_id::VARCHAR AS request_id,
    m.billing_at,
    max(m.finished_at)                                            AS finished_at,
    any_value(m.tenant_id)                                        AS tenant_id,
    any_value(m.project_id)                                       AS project_id,
    any_value(m.cost_centre_id)                                   AS cost_centre_id,
    any_value(m.model_id)                                         AS model_id,
    any_value(m.operation)                                        AS operation,
    any_value(m.service_tier)                                     AS service_tier,
    any_value(m.pool)                                             AS pool,
    any_value(m.disposition)                                      AS disposition,
    any_value(m.reason)                                           AS reason,
    bit_or(m.flags)::BIGINT                                       AS flags,
    any_value(m.entry)                                            AS entry,
    any_value(m.currency)                                         AS currency,
    sum(m.uncached_tokens)::BIGINT                                AS uncached_tokens,
    sum(m.cached_tokens + m.cached_explicit_tokens)::BIGINT       AS cached_tokens,
    sum(m.cache_write_tokens + m.cache_write_1h_tokens)::BIGINT   AS cache_write_tokens,
    sum(m.unsplit_tokens)::BIGINT                                 AS unsplit_tokens,
    sum(m.output_tokens)::BIGINT                                  AS output_tokens,
    sum(m.reasoning_tokens)::BIGINT                               AS reasoning_tokens,
    sum(m.amount + m.unsplit_amount_min)::DECIMAL(38, 15)         AS amount,
    sum(m.amount + m.unsplit_amount_max)::DECIMAL(38, 15)         AS amount_max
FROM request_money AS m
JOIN page USING (request_id, billing_at)
ANTI JOIN reversed USING (request_id, part, revision)
WHERE m.sign = 1
GROUP BY m.request_id, m.billing_at
ORDER BY if($backward, NULL, m.billing_at), if($backward, NULL, m.request_id),
         m.billing_at DESC, m.request_id DESC

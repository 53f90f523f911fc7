-- request_list: requests as they stand now, in the order of their billing instants
-- grain:   request_id; a request with samples on several nodes is one row, its parts added
-- units:   *_tokens in tokens; amounts exact, in `currency`: owed where disposition = 'billed', else
--          at stake, between amount and amount_max
-- window:  billing instant in [$start_at, $end_at)
-- scope:   $every_tenant, or the tenant $tenant_id (pricing/scope.py)
-- page:    after ($after_at, $after_id); the billing instant of a request never changes, so rows
--          that arrive meanwhile move no other
WITH standing AS (
    SELECT *
    FROM request_money
    WHERE billing_at >= $start_at
      AND billing_at < $end_at
    QUALIFY sign = 1 AND sum(sign) OVER (PARTITION BY request_id, part, revision) = 1
)
SELECT
    request_id::VARCHAR AS request_id,
    billing_at,
    max(finished_at)                                          AS finished_at,
    any_value(tenant_id)                                      AS tenant_id,
    any_value(project_id)                                     AS project_id,
    any_value(cost_centre_id)                                 AS cost_centre_id,
    any_value(model_id)                                       AS model_id,
    any_value(operation)                                      AS operation,
    any_value(service_tier)                                   AS service_tier,
    any_value(pool)                                           AS pool,
    any_value(disposition)                                    AS disposition,
    any_value(reason)                                         AS reason,
    bit_or(flags)::BIGINT                                     AS flags,
    any_value(entry)                                          AS entry,
    any_value(currency)                                       AS currency,
    sum(uncached_tokens)::BIGINT                              AS uncached_tokens,
    sum(cached_tokens + cached_explicit_tokens)::BIGINT       AS cached_tokens,
    sum(cache_write_tokens + cache_write_1h_tokens)::BIGINT   AS cache_write_tokens,
    sum(unsplit_tokens)::BIGINT                               AS unsplit_tokens,
    sum(output_tokens)::BIGINT                                AS output_tokens,
    sum(reasoning_tokens)::BIGINT                             AS reasoning_tokens,
    sum(amount + unsplit_amount_min)::DECIMAL(38, 15)         AS amount,
    sum(amount + unsplit_amount_max)::DECIMAL(38, 15)         AS amount_max
FROM standing
WHERE ($every_tenant OR tenant_id = $tenant_id)
  AND ($project_id IS NULL OR project_id = $project_id)
  AND ($model_id IS NULL OR model_id = $model_id)
  AND ($disposition IS NULL OR disposition = $disposition)
  AND ($flag_bit IS NULL OR flags & $flag_bit <> 0)
  AND ($after_at IS NULL OR billing_at > $after_at
       OR (billing_at = $after_at AND request_id > $after_id::UUID))
GROUP BY request_id, billing_at
ORDER BY billing_at, request_id
LIMIT $rows_max

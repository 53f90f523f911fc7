-- both_sources: answers that gateway records billed in hours in which engine legs billed as well
-- grain:  tenant_id, currency
-- units:  hours; requests; amount exact, in `currency`: what may have been billed twice
-- window: billing instant in [$start_at, $end_at)
-- scope:  $every_tenant, or the tenant $tenant_id (pricing/scope.py); with $after_seq only answers
--         that came late by one of the two: to a closed month, first settled after that mark
-- rules:  of the same pool, a record without pool counting for every pool; where the model decided,
--         of the same model; and whatever the names, the same engine id within one hour
WITH gateway_hour AS (
    SELECT DISTINCT tenant_id, date_trunc('hour', bucket_at) AS hour_at
    FROM usage_hourly
    WHERE bucket_at >= $start_at
      AND bucket_at < $end_at
      AND flags & $flag_billed_gateway > 0
      AND disposition <> 'cost'
      AND ($every_tenant OR tenant_id = $tenant_id)
),
near_hour AS (
    SELECT DISTINCT tenant_id, unnest([hour_at - INTERVAL 1 HOUR, hour_at, hour_at + INTERVAL 1 HOUR]) AS hour_at
    FROM gateway_hour
),
billed AS (
    SELECT
        r.request_id, r.part, r.tenant_id, date_trunc('hour', r.billing_at) AS hour_at, r.finished_at,
        r.model_id, r.pool, r.output_leg_id, r.currency, r.amount,
        r.flags & $flag_billed_gateway > 0 AS is_gateway,
        r.flags & $flag_model_policy > 0   AS is_by_model,
        $after_seq IS NULL
          OR (r.adjusts_period IS NOT NULL
              AND min(r.settle_seq) OVER (PARTITION BY r.request_id, r.part) > $after_seq::BIGINT) AS is_asked
    FROM request_money AS r
    SEMI JOIN near_hour AS n
      ON n.tenant_id = r.tenant_id AND n.hour_at = date_trunc('hour', r.billing_at)
    WHERE r.billing_at >= $start_at - INTERVAL 2 HOUR
      AND r.billing_at < $end_at + INTERVAL 2 HOUR
      AND r.disposition IN ('billed', 'unpriced', 'held')
    QUALIFY sum(r.sign) OVER (PARTITION BY r.request_id, r.part) > 0
        AND r.revision = max(r.revision) OVER (PARTITION BY r.request_id, r.part)
        AND r.sign = 1
),
engine_hour AS (
    SELECT tenant_id, hour_at, model_id, pool, bool_or(is_asked) AS is_asked
    FROM billed
    WHERE NOT is_gateway
    GROUP BY ALL
),
named AS (
    SELECT b.request_id, b.is_gateway, b.is_asked, b.finished_at, l.engine_request_id
    FROM billed AS b
    JOIN leg AS l ON l.event_id = b.output_leg_id
    WHERE l.engine_request_id IS NOT NULL
      AND l.finished_at >= $start_at - INTERVAL 3 DAY
      AND l.finished_at < $end_at + INTERVAL 3 DAY
),
twice AS (
    SELECT g.request_id
    FROM named AS g
    JOIN named AS e
      ON e.engine_request_id = g.engine_request_id AND g.is_gateway AND NOT e.is_gateway
     AND e.finished_at BETWEEN g.finished_at - INTERVAL 1 HOUR AND g.finished_at + INTERVAL 1 HOUR
     AND (g.is_asked OR e.is_asked)
)
SELECT
    b.tenant_id, b.currency,
    count(DISTINCT b.hour_at)   AS hours,
    count(*)                    AS requests,
    sum(b.amount)::DECIMAL(38, 15) AS amount
FROM billed AS b
WHERE b.is_gateway
  AND b.hour_at >= date_trunc('hour', $start_at::TIMESTAMP)
  AND b.hour_at < $end_at
  AND (
    b.request_id IN (SELECT request_id FROM twice)
    OR EXISTS (
        SELECT 1
        FROM engine_hour AS e
        WHERE e.tenant_id = b.tenant_id
          AND e.hour_at = b.hour_at
          AND coalesce(e.pool = b.pool, true)
          AND (e.model_id = b.model_id OR NOT b.is_by_model)
          AND (b.is_asked OR e.is_asked)
    )
  )
GROUP BY ALL
ORDER BY ALL

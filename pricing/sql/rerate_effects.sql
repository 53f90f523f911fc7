-- rerate_effects: what a re-rate of a closed month changed, from the rows that it wrote
-- grain:  tenant_id, currency (NULL: requests without a price)
-- units:  requests; amounts exact, in `currency`
-- window: settled_at in [$start_at, $end_at); $end_at NULL: until now; $month: the served month
SELECT
    tenant_id, currency,
    coalesce(sum(request_count) FILTER (sign = 1), 0)::BIGINT                               AS requests,
    coalesce(sum(request_count) FILTER (sign = 1 AND disposition = 'unpriced'), 0)::BIGINT  AS unpriced,
    coalesce(sum(amount) FILTER (sign = -1 AND disposition = 'billed'), 0)::DECIMAL(38, 15) AS amount_before,
    coalesce(sum(amount) FILTER (sign = 1 AND disposition = 'billed'), 0)::DECIMAL(38, 15)  AS amount_after
FROM request_money
WHERE cause = 'rerated'
  AND adjusts_period = $month
  AND settled_at >= $start_at
  AND ($end_at IS NULL OR settled_at < $end_at)
GROUP BY tenant_id, currency
HAVING requests > 0 OR amount_before <> 0
ORDER BY tenant_id, currency

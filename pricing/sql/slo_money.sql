-- slo_money: what the same requests were billed, and how many got no answer, per group
-- grain:  group_name, currency (NULL: no price)
-- units:  requests; amount exact, in `currency`
-- window: billing instant in [$start_at, $end_at)
-- failed: errors, refusals and prompts without answer; the house's own retries and warm-ups are none
-- $model_id, $pool, $node_id: NULL for all; a node is the one that delivered
SELECT
    CASE $group_by
        WHEN 'model' THEN model_id
        WHEN 'pool' THEN pool
        WHEN 'node' THEN coalesce(output_node_id, input_node_id)
        WHEN 'hour' THEN strftime(billing_at, '%Y-%m-%dT%H:00:00Z')
        WHEN 'day' THEN strftime(billing_at, '%Y-%m-%d')
        ELSE 'all'
    END                                                                       AS group_name,
    currency,
    sum(CASE WHEN disposition <> 'billed' THEN 0
             WHEN sign > 0 THEN amount ELSE -amount END)::DECIMAL(38, 15)     AS amount,
    sum(CASE WHEN disposition = 'undelivered' OR (disposition = 'cost' AND reason IN ('error', 'rejected'))
             THEN sign * request_count ELSE 0 END)::BIGINT                    AS failed_requests
FROM request_money
WHERE billing_at >= $start_at AND billing_at < $end_at
  AND ($model_id IS NULL OR model_id = $model_id)
  AND ($pool IS NULL OR pool = $pool)
  AND ($node_id IS NULL OR coalesce(output_node_id, input_node_id) = $node_id)
GROUP BY group_name, currency
ORDER BY group_name, currency

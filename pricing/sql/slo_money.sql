-- slo_money: what the same requests were billed, and how many calls got no answer, per group
-- grain:  group_name, currency (NULL: no price)
-- units:  calls; amount exact, in `currency`
-- window: billing instant in [$start_at, $end_at)
-- failed: a call (one join key) of which a part failed, was refused or undelivered, and none was
--         answered: a retry that succeeded is no failure, and a failed pair is one, not two
-- $model_id, $pool, $node_id: NULL for all; a node is the one that delivered
WITH part AS (
    SELECT
        CASE $group_by
            WHEN 'model' THEN model_id
            WHEN 'pool' THEN pool
            WHEN 'node' THEN coalesce(output_node_id, input_node_id)
            WHEN 'hour' THEN strftime(billing_at, '%Y-%m-%dT%H:00:00Z')
            WHEN 'day' THEN strftime(billing_at, '%Y-%m-%d')
            ELSE 'all'
        END AS group_name,
        currency, sign, amount, disposition,
        disposition = 'undelivered' OR (disposition = 'cost' AND reason IN ('error', 'rejected')) AS failed,
        coalesce(pool, '') || '|' || coalesce(join_key, request_id::VARCHAR) AS call_id
    FROM request_money
    WHERE billing_at >= $start_at AND billing_at < $end_at
      AND ($model_id IS NULL OR model_id = $model_id)
      AND ($pool IS NULL OR pool = $pool)
      AND ($node_id IS NULL OR coalesce(output_node_id, input_node_id) = $node_id)
),
unanswered AS (
    SELECT call_id, max(group_name) AS group_name
    FROM part
    WHERE call_id IN (SELECT call_id FROM part WHERE failed)
    GROUP BY call_id
    HAVING sum(CASE WHEN failed THEN sign ELSE 0 END) > 0
       AND sum(CASE WHEN disposition IN ('billed', 'held', 'unpriced') THEN sign ELSE 0 END) = 0
)
SELECT
    group_name, currency,
    sum(CASE WHEN disposition <> 'billed' THEN 0
             WHEN sign > 0 THEN amount ELSE -amount END)::DECIMAL(38, 15) AS amount,
    0::BIGINT                                                             AS failed_requests
FROM part
GROUP BY group_name, currency
UNION ALL
SELECT group_name, NULL, NULL, count(*)
FROM unanswered
GROUP BY group_name
ORDER BY group_name, currency

-- revenue_groups: billed tokens and their amount by what the servers that earned them have in common
-- grain:  currency and each of node_id, stage, pool, model_id that is asked for; the others are NULL
-- units:  tokens; amounts exact, in `currency`
-- window: billing instant in [$start_at, $end_at), of exact_earned_money
SELECT
    if($by_node, n.node_id, NULL)   AS node_id,
    if($by_stage, n.stage, NULL)    AS stage,
    if($by_pool, n.pool, NULL)      AS pool,
    if($by_model, n.model_id, NULL) AS model_id,
    n.currency,
    sum(n.uncached_tokens)::BIGINT                              AS uncached_tokens,
    sum(n.cached_tokens + n.cached_explicit_tokens)::BIGINT     AS cached_tokens,
    sum(n.cache_write_tokens + n.cache_write_1h_tokens)::BIGINT AS cache_write_tokens,
    sum(n.output_tokens)::BIGINT                                AS output_tokens,
    sum(n.reasoning_tokens)::BIGINT                             AS reasoning_tokens,
    sum(n.input_amount)::DECIMAL(38, 15)                        AS input_amount,
    sum(n.cached_amount)::DECIMAL(38, 15)                       AS cached_amount,
    sum(n.cache_write_amount)::DECIMAL(38, 15)                  AS cache_write_amount,
    sum(n.output_amount)::DECIMAL(38, 15)                       AS output_amount,
    sum(n.reasoning_amount)::DECIMAL(38, 15)                    AS reasoning_amount,
    sum(n.amount)::DECIMAL(38, 15)                              AS amount
FROM exact_earned_money AS n
WHERE n.hour_start_at >= $start_at
  AND n.hour_start_at < $end_at
  AND n.disposition = 'billed'
GROUP BY ALL
HAVING bool_or(n.requests <> 0) OR sum(n.amount) <> 0
ORDER BY ALL

-- earned_pairs: billed money by the two servers that made the answers, and by tenant
-- grain:  input_node_id, input_stage, output_node_id, output_stage, tenant_id, currency
-- units:  amounts exact, in `currency`; tokens; first_amount: one output token of each answer;
--         cold_amount: the cached tokens at the price of uncached ones
-- window: billing instant in [$start_at, $end_at)
WITH billed AS (
    SELECT
        m.*,
        CASE WHEN m.output_leg_id IS NULL THEN m.input_node_id ELSE m.output_node_id END AS to_node,
        CASE WHEN m.output_leg_id IS NULL THEN m.input_stage ELSE m.output_stage END     AS to_stage,
        CASE WHEN m.input_leg_id IS NULL THEN m.output_node_id ELSE m.input_node_id END  AS from_node,
        CASE WHEN m.input_leg_id IS NULL THEN m.output_stage ELSE m.input_stage END      AS from_stage,
        CASE WHEN m.output_tokens > 0 THEN charge(1, k.output_price)
             WHEN m.reasoning_tokens > 0 THEN charge(1, k.reasoning_price)
             ELSE 0::DECIMAL(38, 15) END                                                 AS first_amount,
        coalesce(charge(m.cached_tokens + m.cached_explicit_tokens, k.input_price),
                 m.cached_amount)                                                        AS cold_amount
    FROM request_money AS m
    JOIN price_key AS k USING (price_key)
    WHERE m.billing_at >= $start_at AND m.billing_at < $end_at AND m.disposition = 'billed'
)
SELECT
    from_node AS input_node_id, from_stage AS input_stage,
    to_node AS output_node_id, to_stage AS output_stage, tenant_id, currency,
    sum(sign * (uncached_tokens + cache_write_tokens + cache_write_1h_tokens))::BIGINT AS uncached_tokens,
    sum(sign * (cached_tokens + cached_explicit_tokens))::BIGINT                       AS cached_tokens,
    sum(sign * (output_tokens + reasoning_tokens))::BIGINT                             AS output_tokens,
    sum(CASE WHEN sign > 0 THEN input_amount + cache_write_amount
             ELSE -(input_amount + cache_write_amount) END)::DECIMAL(38, 15)           AS uncached_amount,
    sum(CASE WHEN sign > 0 THEN cached_amount ELSE -cached_amount END)::DECIMAL(38, 15) AS cached_amount,
    sum(CASE WHEN sign > 0 THEN cold_amount ELSE -cold_amount END)::DECIMAL(38, 15)    AS cold_amount,
    sum(CASE WHEN sign > 0 THEN output_amount + reasoning_amount
             ELSE -(output_amount + reasoning_amount) END)::DECIMAL(38, 15)            AS output_amount,
    sum(CASE WHEN sign > 0 THEN first_amount ELSE -first_amount END)::DECIMAL(38, 15)  AS first_amount
FROM billed
GROUP BY ALL
HAVING sum(sign) <> 0 OR sum(CASE WHEN sign > 0 THEN amount ELSE -amount END) <> 0
ORDER BY ALL

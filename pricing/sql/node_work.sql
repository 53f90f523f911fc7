-- node_work: whose work each server did, as its engines metered it and their records named the tenant
-- grain:  node_id, stage, tenant_id
-- units:  tokens; seconds summed over requests that ran side by side
-- window: UTC days of the finish in [$start_at, $end_at)
SELECT
    node_id, stage, tenant_id,
    sum(legs)::BIGINT           AS legs,
    sum(input_tokens)::BIGINT   AS input_tokens,
    sum(cached_tokens)::BIGINT  AS cached_input_tokens,
    sum(output_tokens)::BIGINT  AS output_tokens,
    sum(queue_seconds)          AS queue_seconds,
    sum(prefill_seconds)        AS prefill_seconds,
    sum(decode_seconds)         AS decode_seconds
FROM node_tenant_daily
WHERE day >= $start_at AND day < $end_at
GROUP BY node_id, stage, tenant_id
HAVING sum(legs) <> 0

-- node_work: whose work each server did, for the chargeback of cost
-- grain:  node_id, stage, tenant_id
-- units:  tokens; request_seconds summed over requests that ran side by side
-- window: UTC days of the finish in [$start_at, $end_at)
SELECT
    node_id, stage, tenant_id,
    sum(input_tokens)::BIGINT              AS input_tokens,
    sum(cached_tokens)::BIGINT             AS cached_tokens,
    sum(output_tokens)::BIGINT             AS output_tokens,
    sum(prefill_seconds + decode_seconds)  AS request_seconds
FROM node_tenant_daily
WHERE day >= $start_at AND day < $end_at
GROUP BY node_id, stage, tenant_id
HAVING sum(legs) <> 0
ORDER BY ALL

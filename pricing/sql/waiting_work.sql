-- waiting_work: work of halves whose other half may still come, so that no request has it yet
-- grain:  node_id, stage, tenant_id
-- units:  tokens
-- window: UTC days of the finish in [$start_at, $end_at)
SELECT
    node_id, stage, tenant_id,
    coalesce(sum(input_tokens), 0)::BIGINT  AS input_tokens,
    coalesce(sum(output_tokens), 0)::BIGINT AS output_tokens
FROM pending
WHERE NOT orphaned AND finished_at >= $start_at AND finished_at < $end_at
GROUP BY node_id, stage, tenant_id

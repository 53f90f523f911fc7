-- rollup_node_tenant: which tenant's work each node did, as deltas of node_tenant_daily
-- grain: UTC day of the finish, node, stage, tenant, project, model
INSERT INTO node_tenant_daily
SELECT
    finished_at::DATE, node_id, stage, tenant_id, project_id, model_id, count(*),
    coalesce(sum(input_tokens), 0)::BIGINT, coalesce(sum(cached_input_tokens), 0)::BIGINT,
    coalesce(sum(output_tokens), 0)::BIGINT,
    coalesce(sum(queue_seconds), 0), coalesce(sum(prefill_seconds), 0), coalesce(sum(decode_seconds), 0)
FROM leg
WHERE ingest_seq > $from_seq AND ingest_seq <= $to_seq AND stage <> 'gateway'
GROUP BY ALL

-- owner_work: whose settled requests each server worked on, delivered and failed apart
-- grain:  node_id, stage, tenant_id, project_id, cost_centre_id
-- units:  tokens; owners as they were settled, cost centres as dated in the ledger
-- $set_aside: the reason of answers that a gateway bills; they came, so their work is delivered, and
--             the gateway's record of them is no work
-- window: billing instant in [$start_at, $end_at)
WITH part AS (
    SELECT
        input_node_id AS node_id, input_stage AS stage, tenant_id, project_id, cost_centre_id,
        disposition = 'undelivered' OR (disposition = 'cost' AND reason IS DISTINCT FROM $set_aside) AS failed,
        sign * (uncached_tokens + cache_write_tokens + cache_write_1h_tokens + unsplit_tokens) AS uncached,
        sign * (cached_tokens + cached_explicit_tokens) AS cached,
        0                                               AS output
    FROM request
    WHERE input_leg_id IS NOT NULL AND billing_at >= $start_at AND billing_at < $end_at
      AND flags & $flag_billed_gateway = 0
    UNION ALL
    SELECT
        output_node_id, output_stage, tenant_id, project_id, cost_centre_id,
        disposition = 'undelivered' OR (disposition = 'cost' AND reason IS DISTINCT FROM $set_aside),
        0, 0, sign * (output_tokens + reasoning_tokens)
    FROM request
    WHERE output_leg_id IS NOT NULL AND billing_at >= $start_at AND billing_at < $end_at
      AND flags & $flag_billed_gateway = 0
)
SELECT
    node_id, stage, tenant_id, project_id, cost_centre_id,
    sum(CASE WHEN failed THEN 0 ELSE uncached END)::BIGINT AS delivered_uncached,
    sum(CASE WHEN failed THEN 0 ELSE cached END)::BIGINT   AS delivered_cached,
    sum(CASE WHEN failed THEN 0 ELSE output END)::BIGINT   AS delivered_output,
    sum(CASE WHEN failed THEN uncached ELSE 0 END)::BIGINT AS failed_uncached,
    sum(CASE WHEN failed THEN cached ELSE 0 END)::BIGINT   AS failed_cached,
    sum(CASE WHEN failed THEN output ELSE 0 END)::BIGINT   AS failed_output
FROM part
GROUP BY node_id, stage, tenant_id, project_id, cost_centre_id
ORDER BY ALL

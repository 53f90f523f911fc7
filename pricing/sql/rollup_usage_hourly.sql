-- rollup_usage_hourly: the batch's request rows as deltas of usage_hourly
-- grain: bucket (UTC hour; quarter hour for zones off the hour), tenant, project, cost centre, model,
--        operation, disposition, reason, price key, flags, adjusted period
INSERT INTO usage_hourly
SELECT
    CASE
        WHEN q.tenant_id IS NULL THEN date_trunc('hour', s.billing_at)
        ELSE time_bucket(INTERVAL 15 MINUTE, s.billing_at)
    END AS bucket_at,
    s.tenant_id, s.project_id, s.cost_centre_id, s.model_id, s.operation, s.disposition, s.reason,
    s.price_key, s.flags, s.adjusts_period,
    $settle_seq,
    sum(s.sign * s.request_count)::BIGINT,
    sum(s.sign * s.uncached_tokens)::BIGINT,
    sum(s.sign * s.cached_tokens)::BIGINT,
    sum(s.sign * s.cached_explicit_tokens)::BIGINT,
    sum(s.sign * s.cache_write_tokens)::BIGINT,
    sum(s.sign * s.cache_write_1h_tokens)::BIGINT,
    sum(s.sign * s.unsplit_tokens)::BIGINT,
    sum(s.sign * s.output_tokens)::BIGINT,
    sum(s.sign * s.reasoning_tokens)::BIGINT,
    sum(s.sign * s.digest_1), sum(s.sign * s.digest_2),
    sum(s.sign * s.digest_3), sum(s.sign * s.digest_4)
FROM settled AS s
LEFT JOIN directory_quarter AS q ON q.tenant_id = s.tenant_id
GROUP BY ALL

-- exact_usage: usage that any instant may cut: roll-ups, and exact_request in their place → temp view
-- grain:  bucket of usage_hourly, or a request's instant
-- units:  tokens; requests with their sign
-- exact_edge (registered): hours that exact_request holds request by request
CREATE OR REPLACE TEMP VIEW exact_usage AS
SELECT
    bucket_at, tenant_id, project_id, cost_centre_id, model_id, disposition, reason, price_key,
    adjusts_period, settle_seq, false AS is_rerate,
    requests, uncached_tokens, cached_tokens, cached_explicit_tokens, cache_write_tokens,
    cache_write_1h_tokens, unsplit_tokens, output_tokens, reasoning_tokens,
    digest_1, digest_2, digest_3, digest_4
FROM usage_hourly AS u
WHERE adjusts_period IS NULL
  AND NOT EXISTS (SELECT 1 FROM exact_edge AS e WHERE e.hour_at = date_trunc('hour', u.bucket_at))
UNION ALL BY NAME
FROM exact_request

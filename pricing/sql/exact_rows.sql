-- exact_rows: requests as usage_hourly would hold them, had it no buckets → temp view
-- grain:  request row, weighted by sign
-- units:  tokens; requests with their sign
CREATE OR REPLACE TEMP VIEW exact_row AS
SELECT
    billing_at AS bucket_at,
    tenant_id, project_id, cost_centre_id, model_id, disposition, reason, price_key,
    adjusts_period, settle_seq, cause = 'rerated' AS is_rerate,
    sign * request_count          AS requests,
    sign * uncached_tokens        AS uncached_tokens,
    sign * cached_tokens          AS cached_tokens,
    sign * cached_explicit_tokens AS cached_explicit_tokens,
    sign * cache_write_tokens     AS cache_write_tokens,
    sign * cache_write_1h_tokens  AS cache_write_1h_tokens,
    sign * unsplit_tokens         AS unsplit_tokens,
    sign * output_tokens          AS output_tokens,
    sign * reasoning_tokens       AS reasoning_tokens,
    (sign * digest_1)::HUGEINT AS digest_1, (sign * digest_2)::HUGEINT AS digest_2,
    (sign * digest_3)::HUGEINT AS digest_3, (sign * digest_4)::HUGEINT AS digest_4
FROM request

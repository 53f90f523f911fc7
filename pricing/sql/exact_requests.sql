-- exact_requests: what corrects closed months, request by request: a roll-up does not say whether it
--                 was late or re-rated → temp table exact_request
-- grain:  request row, weighted by sign; with settle_seq above $after_seq
-- units:  tokens
CREATE OR REPLACE TEMP TABLE exact_request AS
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
WHERE adjusts_period IS NOT NULL
  AND settle_seq > $after_seq

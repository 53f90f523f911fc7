-- exact_requests: requests that are read one by one, weighted by sign → temp table exact_request
-- grain:  request row
-- units:  tokens; amounts exact, in `currency`
-- rules:  (1) in an hour in which a month of a zone off the hour begins or ends: a bucket there may
--         hold both months. (2) what corrects closed months, from settle_seq $after_seq on: a
--         roll-up does not say whether it was late or re-rated
CREATE OR REPLACE TEMP TABLE exact_request AS
SELECT
    billing_at AS bucket_at, tenant_id, project_id, cost_centre_id, model_id, disposition, reason,
    price_key, currency, adjusts_period, settle_seq, cause = 'rerated' AS is_rerate,
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
    (sign * digest_3)::HUGEINT AS digest_3, (sign * digest_4)::HUGEINT AS digest_4,
    sign * input_amount       AS input_amount,
    sign * cached_amount      AS cached_amount,
    sign * cache_write_amount AS cache_write_amount,
    sign * output_amount      AS output_amount,
    sign * reasoning_amount   AS reasoning_amount,
    sign * amount             AS amount,
    sign * unsplit_amount_min AS unsplit_amount_min,
    sign * unsplit_amount_max AS unsplit_amount_max
FROM request_money
WHERE CASE WHEN adjusts_period IS NULL
           THEN list_contains($edge_hours::TIMESTAMP[], date_trunc('hour', billing_at))
           ELSE settle_seq > $after_seq END

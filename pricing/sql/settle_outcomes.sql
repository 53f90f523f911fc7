-- settle_outcomes: the keys that need no thought → temp table outcome
-- grain:   one row per request, cost leg or waiting half
-- rules:   docs/pd-accounting.md, the same as metering/pairing.py and pricing/runs/settle_odd.py
--          (tests/pricing/settle/test_oracle.py)
-- columns: disposition billed | held | undelivered | cost | waiting; split_rule says where the
--          cached count comes from: leg (the input leg), none (policy: all uncached), unknown
-- $expired: the other side can no longer come
-- policy_decided (temp macro): what tenant, pool or house decide
CREATE OR REPLACE TEMP TABLE outcome AS
WITH simple_pair AS (
    SELECT
        p.event_id AS prefill_id, d.event_id AS decode_id, d.status,
        p.key_hash,
        coalesce(d.tenant_id, p.tenant_id)   AS tenant_id,
        coalesce(d.api_key_id, p.api_key_id) AS api_key_id,
        coalesce(d.pool, p.pool)             AS pool
    FROM key_shape AS k
    JOIN candidate AS p ON p.key_hash = k.key_hash AND p.stage = 'prefill'
    JOIN candidate AS d ON d.key_hash = k.key_hash AND d.stage = 'decode'
    WHERE k.prefills = 1
      AND k.decodes = 1
      AND NOT k.is_odd
      AND p.status IN ('ok', 'aborted')
      AND p.input_tokens = d.input_tokens
      AND p.finished_at <= d.finished_at + to_seconds($skew_seconds)
),
single AS (
    SELECT c.*
    FROM candidate AS c
    LEFT JOIN key_shape AS k USING (key_hash)
    WHERE (c.stage IN ('unified', 'gateway') AND c.key_hash IS NULL)
       OR (c.stage IN ('prefill', 'decode')
           AND (c.key_hash IS NULL OR (k.legs = 1 AND NOT k.is_odd)))
),
-- whole: an answer with both of its sides, else the one half that is there
found AS (
    SELECT
        decode_id AS request_id, 'whole' AS half, status, key_hash, tenant_id, api_key_id, pool,
        CASE WHEN status IN ('ok', 'aborted') THEN prefill_id END AS input_leg_id,
        decode_id                                                 AS output_leg_id
    FROM simple_pair
    UNION ALL
    SELECT
        event_id, CASE WHEN stage IN ('prefill', 'decode') THEN stage ELSE 'whole' END, status, key_hash,
        tenant_id, api_key_id, pool,
        CASE WHEN status IN ('ok', 'aborted') OR stage <> 'decode' THEN event_id END,
        CASE WHEN stage <> 'prefill' THEN event_id END
    FROM single
),
-- which question a policy answers about it, if any
asked AS (
    SELECT
        f.* REPLACE (coalesce(f.tenant_id, k.tenant_id) AS tenant_id),
        CASE
            WHEN status NOT IN ('ok', 'aborted') THEN NULL
            WHEN half = 'whole'                  THEN CASE WHEN status = 'aborted' THEN 'aborted' END
            WHEN NOT $expired                    THEN NULL
            WHEN half = 'prefill'                THEN 'undelivered'
            ELSE 'decode_only'
        END AS question
    FROM found AS f
    LEFT JOIN directory_key AS k ON f.tenant_id IS NULL AND k.api_key_id = f.api_key_id
),
decided AS (
    SELECT
        *,
        CASE decided_by WHEN 'tenant' THEN $flag_tenant_policy WHEN 'pool' THEN $flag_pool_policy ELSE 0 END AS scope_flag
    FROM policy_decided('asked')
)
SELECT
    request_id,
    0                                                    AS part,
    CASE
        WHEN status NOT IN ('ok', 'aborted')             THEN 'cost'
        WHEN half <> 'whole' AND NOT $expired            THEN 'waiting'
        WHEN question = 'aborted' AND decision <> 'bill' THEN 'cost'
        WHEN decision = 'not_billed'                     THEN 'undelivered'
        WHEN decision = 'hold'                           THEN 'held'
        ELSE 'billed'
    END                                                  AS disposition,
    CASE
        WHEN status NOT IN ('ok', 'aborted')             THEN status
        WHEN half = 'prefill' AND NOT $expired           THEN 'undelivered'
        WHEN half = 'decode' AND NOT $expired            THEN 'decode_only'
        WHEN question = 'aborted' AND decision <> 'bill' THEN 'aborted'
        WHEN decision = 'not_billed'                     THEN 'undelivered'
        WHEN decision = 'hold'                           THEN 'decode_only'
    END                                                  AS reason,
    input_leg_id,
    output_leg_id,
    CASE
        WHEN half <> 'decode'           THEN 'leg'
        WHEN decision = 'bill_uncached' THEN 'none'
        WHEN decision = 'trust_decode'  THEN 'leg'
        ELSE 'unknown'
    END                                                  AS split_rule,
    NULL::BIGINT                                         AS tier_input_tokens,
    NULL::BIGINT                                         AS tier_output_tokens,
    (scope_flag + CASE decision
        WHEN 'bill_input'    THEN $flag_billed_undelivered
        WHEN 'bill_uncached' THEN $flag_billed_uncached
        WHEN 'trust_decode'  THEN $flag_trusted_decode
        ELSE 0
    END)::BIGINT                                         AS flags,
    NULL::TIMESTAMP                                      AS billing_at,
    key_hash
FROM decided
UNION ALL
SELECT
    prefill_id, 0, 'cost', status, prefill_id, NULL, 'leg', NULL, NULL, 0, NULL, key_hash
FROM simple_pair
WHERE status NOT IN ('ok', 'aborted')

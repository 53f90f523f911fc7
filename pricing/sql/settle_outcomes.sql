-- settle_outcomes: the keys that need no thought → temp table outcome
-- grain:   one row per request, cost leg or waiting half
-- rules:   contract.md §3, the same as metering/pairing.py (tests/pricing/test_settle_oracle.py)
-- columns: disposition billed | held | undelivered | cost | waiting; split_rule says where the
--          cached count comes from: leg (the input leg), none (policy: all uncached), unknown
-- $expired: the other side can no longer come
CREATE OR REPLACE TEMP TABLE outcome AS
WITH simple_pair AS (
    SELECT p.event_id AS prefill_id, d.event_id AS decode_id, d.status, p.key_hash
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
    WHERE (c.stage = 'unified' AND c.key_hash IS NULL)
       OR (c.stage IN ('prefill', 'decode')
           AND (c.key_hash IS NULL OR (k.legs = 1 AND NOT k.is_odd)))
)
SELECT
    decode_id                                                    AS request_id,
    0                                                            AS part,
    CASE WHEN status = 'ok' OR (status = 'aborted' AND $bill_aborted) THEN 'billed' ELSE 'cost' END AS disposition,
    CASE WHEN status = 'ok' OR (status = 'aborted' AND $bill_aborted) THEN NULL ELSE status END AS reason,
    CASE WHEN status IN ('ok', 'aborted') THEN prefill_id END    AS input_leg_id,
    decode_id                                                    AS output_leg_id,
    'leg'                                                        AS split_rule,
    NULL::BIGINT                                                 AS tier_input_tokens,
    NULL::BIGINT                                                 AS tier_output_tokens,
    0::BIGINT                                                    AS flags,
    NULL::TIMESTAMP                                              AS billing_at,
    key_hash
FROM simple_pair
UNION ALL
SELECT prefill_id, 0, 'cost', status, prefill_id, NULL, 'leg', NULL, NULL, 0, NULL, key_hash
FROM simple_pair
WHERE status NOT IN ('ok', 'aborted')
UNION ALL
SELECT
    event_id, 0,
    CASE
        WHEN status NOT IN ('ok', 'aborted')                        THEN 'cost'
        WHEN stage = 'unified' AND (status = 'ok' OR $bill_aborted) THEN 'billed'
        WHEN stage = 'unified'                                      THEN 'cost'
        WHEN NOT $expired                                           THEN 'waiting'
        WHEN stage = 'prefill' AND $bill_undelivered                THEN 'billed'
        WHEN stage = 'prefill'                                      THEN 'undelivered'
        WHEN $decode_only = 'hold'                                  THEN 'held'
        ELSE 'billed'
    END,
    CASE
        WHEN status NOT IN ('ok', 'aborted')                        THEN status
        WHEN stage = 'unified' AND (status = 'ok' OR $bill_aborted) THEN NULL
        WHEN stage = 'unified'                                      THEN 'aborted'
        WHEN stage = 'prefill' AND $bill_undelivered AND $expired   THEN NULL
        WHEN stage = 'prefill'                                      THEN 'undelivered'
        WHEN $decode_only = 'hold' OR NOT $expired                  THEN 'decode_only'
    END,
    CASE WHEN status IN ('ok', 'aborted') OR stage <> 'decode' THEN event_id END,
    CASE WHEN stage <> 'prefill' THEN event_id END,
    CASE
        WHEN stage <> 'decode'              THEN 'leg'
        WHEN $decode_only = 'bill_uncached' THEN 'none'
        WHEN $decode_only = 'trust_decode'  THEN 'leg'
        ELSE 'unknown'
    END,
    NULL, NULL,
    CASE
        WHEN status NOT IN ('ok', 'aborted') OR NOT $expired OR stage = 'unified' THEN 0
        WHEN stage = 'prefill' AND $bill_undelivered THEN $flag_billed_undelivered
        WHEN stage = 'decode' AND $decode_only = 'bill_uncached' THEN $flag_billed_uncached
        WHEN stage = 'decode' AND $decode_only = 'trust_decode'  THEN $flag_trusted_decode
        ELSE 0
    END,
    NULL, key_hash
FROM single

-- reprice_owned: those rows as they were before a price decided about them → temp table owned
-- grain: request_id, part
-- owners stay as they were settled; requests of closed months are left alone
-- a request billed with unknown cached part gets its unsplit input back
CREATE OR REPLACE TEMP TABLE owned AS
WITH open_request AS (
    SELECT r.*
    FROM current_request AS r
    ANTI JOIN directory_closed AS m
      ON m.tenant_id = r.tenant_id AND r.billing_at >= m.start_at AND r.billing_at < m.end_at
),
-- the samples of a group share the tier of their sum; all others are their own
grouped AS (
    SELECT
        request_id,
        max(input_tokens)                             AS tier_input_tokens,
        sum(output_tokens + reasoning_tokens)::BIGINT AS tier_output_tokens
    FROM open_request
    WHERE request_id IN (SELECT request_id FROM open_request WHERE part > 0)
    GROUP BY request_id
)
SELECT
    r.* EXCLUDE (settle_seq, settled_at, revision, sign, cause, price_key, digest_1, digest_2, digest_3, digest_4)
        REPLACE (
            CASE WHEN r.disposition = 'unpriced' THEN 'billed' ELSE r.disposition END AS disposition,
            CASE WHEN r.disposition = 'unpriced' AND r.reason <> 'output_unknown' THEN NULL ELSE r.reason END AS reason,
            CASE WHEN r.flags & $flag_cached_unknown > 0 THEN 0 ELSE r.uncached_tokens END AS uncached_tokens,
            CASE WHEN r.flags & $flag_cached_unknown > 0 THEN r.uncached_tokens ELSE r.unsplit_tokens END AS unsplit_tokens,
            r.flags & ~($flag_cached_unknown | $flag_unknown_service_tier | $flag_holidays_unknown) AS flags
        ),
    t.tenant_id                                              AS contract_tenant_id,
    false                                                    AS is_expired,
    coalesce(g.tier_input_tokens, r.input_tokens)            AS tier_input_tokens,
    coalesce(g.tier_output_tokens, r.output_tokens + r.reasoning_tokens) AS tier_output_tokens,
    r.input_leg_id IS NULL OR r.input_tokens IS NOT NULL     AS input_known
FROM open_request AS r
LEFT JOIN grouped AS g ON g.request_id = r.request_id
LEFT JOIN directory_contract AS t ON t.tenant_id = r.tenant_id

-- rerate_policies: what a policy decided about owned rows, decided anew → temp table owned
-- grain:  request_id, part
-- units:  tokens; lines as in settle_owned
-- rules:  dispositions and flags as settle_outcomes; groups and gateways' records stay as they are
-- policy_decided (temp macro): what tenant, pool or house decide
CREATE OR REPLACE TEMP TABLE owned AS
WITH asked AS (
    SELECT
        o.*,
        CASE
            WHEN o.flags & $flag_billed_gateway > 0 OR g.request_id IS NOT NULL        THEN NULL
            WHEN o.output_leg_id IS NULL                                               THEN 'undelivered'
            WHEN o.flags & ($flag_billed_uncached | $flag_trusted_decode) > 0
              OR (o.disposition = 'held' AND o.reason = 'decode_only')                 THEN 'decode_only'
            WHEN o.flags & $flag_aborted > 0                                           THEN 'aborted'
        END AS question
    FROM owned AS o
    LEFT JOIN (SELECT DISTINCT request_id FROM owned WHERE part > 0) AS g USING (request_id)
),
decided AS (
    SELECT
        a.*,
        CASE decided_by WHEN 'tenant' THEN $flag_tenant_policy WHEN 'pool' THEN $flag_pool_policy ELSE 0 END AS scope_flag,
        -- the decode leg's own counts, for those that were billed by it alone
        l.cached_input_tokens                AS leg_cached,
        coalesce(l.cached_explicit_tokens, 0) AS leg_explicit,
        coalesce(l.cache_write_tokens, 0)    AS w,
        coalesce(l.cache_write_1h_tokens, 0) AS w1,
        l.input_tokens                       AS n,
        a.question = 'decode_only'           AS is_alone
    FROM policy_decided('asked') AS a
    LEFT JOIN (
        SELECT * FROM leg
        SEMI JOIN (SELECT output_leg_id AS event_id FROM asked WHERE question = 'decode_only') USING (event_id)
        QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY ingest_seq) = 1
    ) AS l ON l.event_id = a.output_leg_id AND a.question = 'decode_only'
),
split AS (
    SELECT
        *,
        CASE decision WHEN 'trust_decode' THEN leg_cached WHEN 'bill_uncached' THEN 0 END AS h,
        CASE decision WHEN 'trust_decode' THEN leg_explicit ELSE 0 END        AS e,
        h IS NOT NULL AND n IS NOT NULL AND h + w <= n AND e <= h AND w1 <= w AS is_split,
        w1 <= w AND w <= n                                                    AS is_write
    FROM decided
)
SELECT
    * EXCLUDE (question, decision, decided_by, scope_flag, leg_cached, leg_explicit, h, e, w, w1, n, is_alone, is_split, is_write)
    REPLACE (
        CASE
            WHEN question IS NULL                              THEN disposition
            WHEN decision IN ('bill', 'bill_input', 'bill_uncached', 'trust_decode') THEN 'billed'
            WHEN question = 'aborted'                          THEN 'cost'
            WHEN question = 'undelivered'                      THEN 'undelivered'
            ELSE 'held'
        END AS disposition,
        CASE
            WHEN question IS NULL                              THEN reason
            WHEN decision IN ('bill', 'bill_input', 'bill_uncached', 'trust_decode')
                THEN CASE WHEN disposition = 'billed' THEN reason END
            ELSE question
        END AS reason,
        CASE WHEN question IS NULL THEN flags ELSE
            (flags & ~($flag_billed_undelivered | $flag_billed_uncached | $flag_trusted_decode
                       | $flag_tenant_policy | $flag_pool_policy))
            | scope_flag
            | CASE decision
                  WHEN 'bill_input'    THEN $flag_billed_undelivered
                  WHEN 'bill_uncached' THEN $flag_billed_uncached
                  WHEN 'trust_decode'  THEN $flag_trusted_decode
                  ELSE 0
              END
        END AS flags,
        CASE WHEN NOT coalesce(is_alone, false) THEN uncached_tokens
             WHEN is_split THEN n - h - w ELSE 0 END AS uncached_tokens,
        CASE WHEN NOT coalesce(is_alone, false) THEN cached_tokens
             WHEN is_split THEN h - e ELSE 0 END AS cached_tokens,
        CASE WHEN NOT coalesce(is_alone, false) THEN cached_explicit_tokens
             WHEN is_split THEN e ELSE 0 END AS cached_explicit_tokens,
        CASE WHEN NOT coalesce(is_alone, false) THEN cache_write_tokens
             WHEN is_split OR is_write THEN w - w1 ELSE 0 END AS cache_write_tokens,
        CASE WHEN NOT coalesce(is_alone, false) THEN cache_write_1h_tokens
             WHEN is_split OR is_write THEN w1 ELSE 0 END AS cache_write_1h_tokens,
        CASE WHEN NOT coalesce(is_alone, false) THEN unsplit_tokens
             WHEN is_split OR n IS NULL THEN 0
             WHEN is_write THEN n - w
             ELSE n END AS unsplit_tokens
    )
FROM split

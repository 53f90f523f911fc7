-- settle_settled: owned line sets with the price in force, as the rows that this batch appends to
--                 request → temp table settled; settle_reversals.sql adds what they replace
-- grain: request_id, part, revision
-- rules: prices as pricing/rating.py verdict; a request whose content did not change is not written
--        again
-- price_cell: the catalogue cut into cells in which its answer is constant
CREATE OR REPLACE TEMP TABLE settled AS
WITH quoted AS (
    SELECT
        o.*,
        q.price_key, q.reason AS price_reason, coalesce(q.flags, 0) AS price_flags,
        q.cached_is_input,
        (o.uncached_tokens > 0 AND NOT q.has_input)
          OR (o.unsplit_tokens > 0 AND NOT q.has_input)
          OR (o.cache_write_tokens > 0 AND NOT q.has_cache_write)
          OR (o.cache_write_1h_tokens > 0 AND NOT q.has_cache_write_1h) AS lacks_input,
        (o.cached_tokens > 0 AND NOT q.has_cached)
          OR (o.cached_explicit_tokens > 0 AND NOT q.has_cached_explicit) AS lacks_cached,
        (o.output_tokens > 0 AND NOT q.has_output)
          OR (o.reasoning_tokens > 0 AND NOT q.has_reasoning) AS lacks_output
    FROM owned AS o
    LEFT JOIN price_cell AS q
      ON q.model_id = o.model_id
     AND q.contract_tenant_id IS NOT DISTINCT FROM o.contract_tenant_id
     AND q.service_tier IS NOT DISTINCT FROM o.service_tier
     AND q.region IS NOT DISTINCT FROM o.region
     AND o.billing_at >= q.from_at AND o.billing_at < q.until_at
     AND coalesce(o.tier_input_tokens, 0) >= q.input_from
     AND coalesce(o.tier_input_tokens, 0) < q.input_until
     AND coalesce(o.tier_output_tokens, 0) >= q.output_from
     AND coalesce(o.tier_output_tokens, 0) < q.output_until
),
judged AS (
    SELECT
        *,
        CASE
            WHEN disposition <> 'billed'                        THEN reason
            WHEN reason IS NOT NULL                             THEN reason
            WHEN NOT input_known                                THEN 'input_unknown'
            WHEN NOT output_known                               THEN 'output_unknown'
            WHEN price_key IS NULL                              THEN coalesce(price_reason, 'no_price')
            WHEN lacks_input                                    THEN 'no_input_price'
            WHEN lacks_cached                                   THEN 'no_cached_price'
            WHEN lacks_output                                   THEN 'no_output_price'
            WHEN unsplit_tokens > 0 AND NOT cached_is_input     THEN 'cached_unknown'
        END AS final_reason
    FROM quoted
),
priced AS (
    SELECT
        * REPLACE (
            CASE
                WHEN is_expired AND disposition <> 'cost'                       THEN 'expired'
                WHEN disposition = 'billed' AND final_reason IS NOT NULL THEN 'unpriced'
                ELSE disposition
            END AS disposition,
            CASE WHEN is_expired AND disposition <> 'cost' THEN 'late_usage' ELSE final_reason END AS reason,
            uncached_tokens + CASE WHEN disposition = 'billed' AND final_reason IS NULL THEN unsplit_tokens ELSE 0 END AS uncached_tokens,
            CASE WHEN disposition = 'billed' AND final_reason IS NULL THEN 0 ELSE unsplit_tokens END AS unsplit_tokens,
            CASE WHEN disposition = 'cost' THEN NULL ELSE price_key END AS price_key,
            flags | CASE WHEN disposition = 'cost' THEN 0 ELSE price_flags END
                  | CASE WHEN disposition = 'billed' AND final_reason IS NULL AND unsplit_tokens > 0
                         THEN $flag_cached_unknown ELSE 0 END AS flags
        )
    FROM judged
),
fresh AS (
    SELECT
        $settle_seq AS settle_seq, $now AS settled_at,
        p.request_id, p.part, coalesce(c.revision, 0) + 1 AS revision, 1::TINYINT AS sign,
        CASE WHEN c.request_id IS NULL THEN 'settled' ELSE $cause END AS cause,
        p.disposition, p.reason, p.request_count, p.billing_at, p.finished_at,
        p.tenant_id, p.project_id, p.cost_centre_id, p.api_key_id, p.model_id, p.operation,
        p.service_tier, p.region, p.pool, p.join_key, p.key_hash,
        p.input_node_id, p.output_node_id, p.input_stage, p.output_stage,
        p.input_leg_id, p.output_leg_id, p.input_tokens,
        p.uncached_tokens, p.cached_tokens, p.cached_explicit_tokens, p.cache_write_tokens,
        p.cache_write_1h_tokens, p.unsplit_tokens, p.output_tokens, p.reasoning_tokens,
        p.output_known, p.price_key, p.flags, p.adjusts_period, p.legs_hash,
        sha256(concat_ws('|', p.legs_hash, p.uncached_tokens, p.cached_tokens,
            p.cached_explicit_tokens, p.cache_write_tokens, p.cache_write_1h_tokens,
            p.unsplit_tokens, p.output_tokens, p.reasoning_tokens, p.price_key)) AS digest,
        c.request_id IS NOT NULL AND p.is_expired
          OR c.request_id IS NOT NULL
          AND c.disposition = p.disposition
          AND c.reason IS NOT DISTINCT FROM p.reason
          AND c.tenant_id IS NOT DISTINCT FROM p.tenant_id
          AND c.project_id IS NOT DISTINCT FROM p.project_id
          AND c.input_leg_id IS NOT DISTINCT FROM p.input_leg_id
          AND c.price_key IS NOT DISTINCT FROM p.price_key
          AND c.uncached_tokens = p.uncached_tokens
          AND c.cached_tokens = p.cached_tokens
          AND c.cached_explicit_tokens = p.cached_explicit_tokens
          AND c.cache_write_tokens = p.cache_write_tokens
          AND c.cache_write_1h_tokens = p.cache_write_1h_tokens
          AND c.unsplit_tokens = p.unsplit_tokens
          AND c.output_tokens = p.output_tokens
          AND c.reasoning_tokens = p.reasoning_tokens
          AND c.flags = p.flags AS is_same
    FROM priced AS p
    LEFT JOIN current_request AS c ON c.request_id = p.request_id AND c.part = p.part
)
SELECT
    * EXCLUDE (digest, is_same),
    (('0x' || digest[1:16])::UBIGINT >> 1)::BIGINT  AS digest_1,
    (('0x' || digest[17:32])::UBIGINT >> 1)::BIGINT AS digest_2,
    (('0x' || digest[33:48])::UBIGINT >> 1)::BIGINT AS digest_3,
    (('0x' || digest[49:64])::UBIGINT >> 1)::BIGINT AS digest_4
FROM fresh
WHERE NOT is_same

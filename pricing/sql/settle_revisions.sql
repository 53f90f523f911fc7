-- settle_revisions: what this batch appends to request → temp table settled
-- grain:  request_id, part, revision, sign
-- a request whose content did not change is not written again; a changed one is reversed first
CREATE OR REPLACE TEMP TABLE settled AS
WITH fresh AS (
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
        c.request_id IS NOT NULL
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
UNION ALL
SELECT
    c.* REPLACE (
        $settle_seq AS settle_seq, $now AS settled_at, $cause AS cause, (-1)::TINYINT AS sign
    )
FROM current_request AS c
LEFT JOIN fresh AS f ON f.request_id = c.request_id AND f.part = c.part
WHERE NOT coalesce(f.is_same, false)

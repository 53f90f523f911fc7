-- settle_priced: owned line sets with the price in force and the final disposition → temp table priced
-- grain: request_id, part
-- rules: the same as pricing/rating.py rate_tokens
-- price_cell (registered): the catalogue cut into cells in which its answer is constant
CREATE OR REPLACE TEMP TABLE priced AS
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
)
SELECT
    * REPLACE (
        CASE WHEN disposition = 'billed' AND final_reason IS NOT NULL THEN 'unpriced' ELSE disposition END AS disposition,
        final_reason AS reason,
        uncached_tokens + CASE WHEN disposition = 'billed' AND final_reason IS NULL THEN unsplit_tokens ELSE 0 END AS uncached_tokens,
        CASE WHEN disposition = 'billed' AND final_reason IS NULL THEN 0 ELSE unsplit_tokens END AS unsplit_tokens,
        CASE WHEN disposition = 'cost' THEN NULL ELSE price_key END AS price_key,
        flags | CASE WHEN disposition = 'cost' THEN 0 ELSE price_flags END
              | CASE WHEN disposition = 'billed' AND final_reason IS NULL AND unsplit_tokens > 0
                     THEN $flag_cached_unknown ELSE 0 END AS flags
    )
FROM judged

-- verify_legs: request rows of an invoice that do not follow from the legs that they name
-- grain:  one row
-- units:  request rows
-- window: as in verify_sums
-- rules:  content_hash as metering.store's leg_verdict, legs_hash as settle_owned, digest as
--         settle_settled; tokens as the input leg and the output leg state them
WITH billed AS (
    SELECT r.*
    FROM request AS r
    JOIN price_key AS k ON k.price_key = r.price_key AND k.currency = $currency
    WHERE r.tenant_id = $tenant_id
      AND r.disposition = 'billed'
      AND CASE WHEN r.adjusts_period IS NULL
               THEN r.billing_at >= $start_at AND r.billing_at < $end_at
               ELSE r.settle_seq > $after_seq AND r.settle_seq <= $mark END
),
named AS (
    SELECT input_leg_id AS event_id FROM billed WHERE input_leg_id IS NOT NULL
    UNION
    SELECT output_leg_id FROM billed WHERE output_leg_id IS NOT NULL
),
stated AS (
    SELECT
        l.event_id, l.content_hash, l.input_tokens, l.output_tokens,
        left(sha256(concat_ws('|',
            coalesce(l.engine_request_id, '-'), coalesce(l.join_key, '-'),
            coalesce(l.client_request_id, '-'), coalesce(l.model_id, '-'),
            coalesce(epoch_us(l.started_at), 0), coalesce(epoch_us(l.finished_at), 0),
            coalesce(l.input_tokens::VARCHAR, '-'), coalesce(l.cached_input_tokens::VARCHAR, '-'),
            coalesce(l.cached_explicit_tokens::VARCHAR, '-'),
            coalesce(l.cache_write_tokens::VARCHAR, '-'),
            coalesce(l.cache_write_1h_tokens::VARCHAR, '-'),
            coalesce(l.output_tokens::VARCHAR, '-'),
            coalesce(l.reasoning_tokens::VARCHAR, '-'), coalesce(l.status, '-')
        )), 32)::UUID AS content_again
    FROM leg AS l
    SEMI JOIN named USING (event_id)
    QUALIFY row_number() OVER (PARTITION BY l.event_id ORDER BY l.ingest_seq) = 1
),
checked AS (
    SELECT
        (b.input_leg_id IS NOT NULL AND i.event_id IS NULL)
          OR (b.output_leg_id IS NOT NULL AND d.event_id IS NULL)   AS lacks_leg,
        coalesce(i.content_hash <> i.content_again, false)
          OR coalesce(d.content_hash <> d.content_again, false)     AS has_changed_leg,
        b.legs_hash <> sha256(concat_ws('|', i.event_id, i.content_hash, d.event_id,
                                        d.content_hash))[1:32]::UUID AS has_other_legs,
        b.uncached_tokens + b.cached_tokens + b.cached_explicit_tokens + b.cache_write_tokens
          + b.cache_write_1h_tokens + b.unsplit_tokens <> coalesce(i.input_tokens, 0)
          OR b.output_tokens + b.reasoning_tokens <> coalesce(d.output_tokens, 0)
                                                                    AS has_other_tokens,
        sha256(concat_ws('|', b.legs_hash, b.uncached_tokens, b.cached_tokens,
            b.cached_explicit_tokens, b.cache_write_tokens, b.cache_write_1h_tokens,
            b.unsplit_tokens, b.output_tokens, b.reasoning_tokens, b.price_key)) AS digest,
        b.digest_1, b.digest_2, b.digest_3, b.digest_4
    FROM billed AS b
    LEFT JOIN stated AS i ON i.event_id = b.input_leg_id
    LEFT JOIN stated AS d ON d.event_id = b.output_leg_id
)
SELECT
    count(*)                                  AS request_rows,
    count(*) FILTER (lacks_leg)               AS lacks_leg,
    count(*) FILTER (has_changed_leg)         AS has_changed_leg,
    count(*) FILTER (has_other_legs)          AS has_other_legs,
    count(*) FILTER (has_other_tokens)        AS has_other_tokens,
    count(*) FILTER (
        (('0x' || digest[1:16])::UBIGINT >> 1)::BIGINT <> digest_1
        OR (('0x' || digest[17:32])::UBIGINT >> 1)::BIGINT <> digest_2
        OR (('0x' || digest[33:48])::UBIGINT >> 1)::BIGINT <> digest_3
        OR (('0x' || digest[49:64])::UBIGINT >> 1)::BIGINT <> digest_4
    )                                         AS has_other_digest
FROM checked

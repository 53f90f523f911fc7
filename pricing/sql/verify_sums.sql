-- verify_sums: what an invoice must owe, derived again from the request rows
-- grain:  model, price key, corrected month, late or re-rated
-- units:  tokens; requests with their sign; digests as sums of 63-bit words
-- window: billing_at in [$start_at, $end_at), and adjustments with a settle_seq in
--         ($after_seq, $mark]; $currency: of the price
SELECT
    r.model_id, r.price_key, r.adjusts_period AS corrects_month,
    r.adjusts_period IS NOT NULL AND r.cause = 'rerated' AS is_rerate,
    sum(r.sign * r.request_count)::BIGINT          AS requests,
    sum(r.sign * r.uncached_tokens)::BIGINT        AS uncached,
    sum(r.sign * r.cached_tokens)::BIGINT          AS cached,
    sum(r.sign * r.cached_explicit_tokens)::BIGINT AS cached_explicit,
    sum(r.sign * r.cache_write_tokens)::BIGINT     AS cache_write,
    sum(r.sign * r.cache_write_1h_tokens)::BIGINT  AS cache_write_1h,
    sum(r.sign * r.output_tokens)::BIGINT          AS output,
    sum(r.sign * r.reasoning_tokens)::BIGINT       AS reasoning,
    sum(r.sign * r.digest_1) AS digest_1, sum(r.sign * r.digest_2) AS digest_2,
    sum(r.sign * r.digest_3) AS digest_3, sum(r.sign * r.digest_4) AS digest_4
FROM request AS r
JOIN price_key AS k ON k.price_key = r.price_key AND k.currency = $currency
WHERE r.tenant_id = $tenant_id
  AND r.disposition = 'billed'
  AND CASE WHEN r.adjusts_period IS NULL
           THEN r.billing_at >= $start_at AND r.billing_at < $end_at
           ELSE r.settle_seq > $after_seq AND r.settle_seq <= $mark END
GROUP BY ALL
ORDER BY ALL

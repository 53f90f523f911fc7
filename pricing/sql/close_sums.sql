-- close_sums: what each tenant owes at its close, before rounding
-- grain:  tenant, model, price key, corrected month, late or re-rated, project, cost centre
-- units:  tokens; requests with their sign; digests as sums of 63-bit words
-- window: close_scope (registered): the month's own rows, and rows that adjust an earlier month
--         with a settle_seq in (after_seq, mark]
SELECT
    u.tenant_id, u.model_id, u.price_key, u.adjusts_period AS corrects_month,
    u.is_rerate, u.project_id, u.cost_centre_id,
    sum(u.requests)::BIGINT               AS requests,
    sum(u.uncached_tokens)::BIGINT        AS uncached,
    sum(u.cached_tokens)::BIGINT          AS cached,
    sum(u.cached_explicit_tokens)::BIGINT AS cached_explicit,
    sum(u.cache_write_tokens)::BIGINT     AS cache_write,
    sum(u.cache_write_1h_tokens)::BIGINT  AS cache_write_1h,
    sum(u.output_tokens)::BIGINT          AS output,
    sum(u.reasoning_tokens)::BIGINT       AS reasoning,
    sum(u.digest_1) AS digest_1, sum(u.digest_2) AS digest_2,
    sum(u.digest_3) AS digest_3, sum(u.digest_4) AS digest_4
FROM exact_usage AS u
JOIN close_scope AS s
  ON s.tenant_id = u.tenant_id
 AND CASE WHEN u.adjusts_period IS NULL
          THEN u.bucket_at >= s.start_at AND u.bucket_at < s.end_at
          ELSE u.settle_seq > s.after_seq AND u.settle_seq <= s.mark END
WHERE u.disposition = 'billed'
GROUP BY ALL
ORDER BY ALL

-- close_not_billed: usage in the scope of a close that no document bills, and what is at stake
-- grain:  tenant, disposition, reason, currency, corrected month
-- a request of a closed month that was decided since then counts -1 there
-- units:  requests; tokens; amounts exact, in `currency`, between amount_min and amount_max
-- window: close_scope (registered), as in close_sums
SELECT
    u.tenant_id, u.disposition, coalesce(u.reason, u.disposition) AS reason, u.currency,
    u.adjusts_period AS corrects_month,
    sum(u.requests)::BIGINT                               AS requests,
    sum(u.uncached_tokens + u.cached_tokens + u.cached_explicit_tokens + u.cache_write_tokens
        + u.cache_write_1h_tokens + u.unsplit_tokens + u.output_tokens
        + u.reasoning_tokens)::BIGINT                     AS tokens,
    sum(u.amount + u.unsplit_amount_min)::DECIMAL(38, 15) AS amount_min,
    sum(u.amount + u.unsplit_amount_max)::DECIMAL(38, 15) AS amount_max
FROM exact_usage_money AS u
JOIN close_scope AS s
  ON s.tenant_id = u.tenant_id
 AND CASE WHEN u.adjusts_period IS NULL
          THEN u.bucket_at >= s.start_at AND u.bucket_at < s.end_at
          ELSE u.settle_seq > s.after_seq AND u.settle_seq <= s.mark END
WHERE u.disposition IN ('unpriced', 'held', 'undelivered', 'expired')
GROUP BY ALL
HAVING sum(u.requests) <> 0
ORDER BY ALL

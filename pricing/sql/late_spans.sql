-- late_spans: when usage was served that a close takes as corrections of closed months
-- grain:  tenant_id, after_seq
-- window: close_scope (registered): rows with a settle_seq in (after_seq, mark], re-rates aside;
--         start_at and end_at with an hour on both sides, in which another record of it may lie
SELECT
    r.tenant_id, s.after_seq,
    date_trunc('hour', min(r.billing_at)) - INTERVAL 1 HOUR AS start_at,
    date_trunc('hour', max(r.billing_at)) + INTERVAL 2 HOUR AS end_at
FROM request AS r
JOIN close_scope AS s
  ON s.tenant_id = r.tenant_id
 AND r.settle_seq > s.after_seq
 AND r.settle_seq <= s.mark
WHERE r.adjusts_period IS NOT NULL
  AND r.cause <> 'rerated'
GROUP BY r.tenant_id, s.after_seq
ORDER BY r.tenant_id

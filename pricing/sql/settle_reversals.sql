-- settle_reversals: the rows in force that this batch replaces or takes back, with the sign −1 → settled
-- grain: request_id, part, revision
-- rules: a row stays in force if the batch decided the same about it again: then it is in owned and
--        not in settled
INSERT INTO settled
SELECT
    c.* REPLACE (
        $settle_seq AS settle_seq, $now AS settled_at, $cause AS cause, (-1)::TINYINT AS sign,
        coalesce(m.month, c.adjusts_period) AS adjusts_period
    )
FROM current_request AS c
LEFT JOIN owned AS o ON o.request_id = c.request_id AND o.part = c.part
LEFT JOIN settled AS s ON s.request_id = c.request_id AND s.part = c.part
LEFT JOIN directory_closed AS m
  ON m.tenant_id = c.tenant_id
 AND c.billing_at >= m.start_at AND c.billing_at < m.end_at
WHERE s.request_id IS NOT NULL OR o.request_id IS NULL

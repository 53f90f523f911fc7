-- rerate_current: the rows in force of closed months, as what corrects them → temp table
--                 current_request
-- grain:  request_id, part
-- window: billing_at in [$start_at, $end_at) and in a month of rerate_scope (registered)
-- only what was billed, or lacked a price: nothing else of a closed month is decided by prices
CREATE OR REPLACE TEMP TABLE current_request AS
WITH reversed AS (
    SELECT request_id, part, revision
    FROM request
    WHERE billing_at >= $start_at
      AND billing_at < $end_at
      AND sign = -1
)
SELECT r.* REPLACE (s.month AS adjusts_period)
FROM request AS r
ANTI JOIN reversed USING (request_id, part, revision)
JOIN rerate_scope AS s
  ON s.tenant_id = r.tenant_id
 AND r.billing_at >= s.start_at
 AND r.billing_at < s.end_at
WHERE r.billing_at >= $start_at
  AND r.billing_at < $end_at
  AND r.sign = 1
  AND r.disposition IN ('billed', 'unpriced')

-- rerate_current: the rows in force of closed months, as what corrects them → temp table
--                 current_request
-- grain:  request_id, part
-- window: billing_at in [$start_at, $end_at) and in a month of rerate_scope (registered)
-- what was billed or lacked a price; with $with_policies also what a policy kept from the bill
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
  AND (r.disposition IN ('billed', 'unpriced')
       OR ($with_policies
           AND (r.disposition = 'undelivered'
                OR (r.disposition = 'held' AND r.reason = 'decode_only')
                OR (r.disposition = 'cost' AND r.reason = 'aborted'))))

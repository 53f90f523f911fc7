-- reprice_current: the rows in force of a window that a price decides → temp table current_request
-- grain:  request_id, part
-- window: billing_at in [$start_at, $end_at); rows that adjust a closed period stay as they are,
--         unless a what-if asks for all that stands ($with_adjustments)
-- a reversal carries the revision and the billing instant of the row that it takes back
CREATE OR REPLACE TEMP TABLE current_request AS
WITH reversed AS (
    SELECT request_id, part, revision
    FROM request
    WHERE billing_at >= $start_at
      AND billing_at < $end_at
      AND sign = -1
)
SELECT *
FROM request AS r
ANTI JOIN reversed USING (request_id, part, revision)
WHERE r.billing_at >= $start_at
  AND r.billing_at < $end_at
  AND r.sign = 1
  AND r.disposition <> 'cost'
  AND (r.adjusts_period IS NULL OR $with_adjustments)

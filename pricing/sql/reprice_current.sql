-- reprice_current: the rows in force of one day that a price decides → temp table current_request
-- grain:  request_id, part
-- window: billing_at in [$start_at, $end_at); rows that adjust a closed period stay as they are,
--         unless a what-if asks for all that stands ($with_adjustments)
CREATE OR REPLACE TEMP TABLE current_request AS
SELECT *
FROM request
WHERE billing_at >= $start_at
  AND billing_at < $end_at
  AND disposition <> 'cost'
  AND (adjusts_period IS NULL OR $with_adjustments)
QUALIFY sum(sign) OVER (PARTITION BY request_id, part) > 0
    AND revision = max(revision) OVER (PARTITION BY request_id, part)

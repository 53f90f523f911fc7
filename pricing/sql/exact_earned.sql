-- exact_earned: what servers earned in the hours that a window cuts, request by request → temp table
-- grain:  row of earned_lines; hour_start_at is its billing instant
-- units:  tokens and requests with their sign
-- window: billing_at in [$start_at, $end_at), outside of the whole hours [$from_at, $until_at)
CREATE OR REPLACE TEMP TABLE exact_earned AS
SELECT billing_at AS hour_start_at, * EXCLUDE (billing_at, tenant_id)
FROM earned_lines('request')
WHERE billing_at >= $start_at
  AND billing_at < $end_at
  AND (billing_at < $from_at OR billing_at >= $until_at)

-- what_if_days: UTC days of a window that hold requests
-- grain:  day
-- window: billing_at in [$start_at, $end_at)
SELECT DISTINCT billing_at::DATE AS day
FROM request
WHERE billing_at >= $start_at
  AND billing_at < $end_at
  AND disposition <> 'cost'
ORDER BY day

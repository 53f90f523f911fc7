-- gateway_billed: whether any gateway record bills in a window
-- grain:  one row
-- window: billing instant in [$start_at, $end_at)
SELECT count(*) > 0 AS is_found
FROM usage_hourly
WHERE bucket_at >= $start_at
  AND bucket_at < $end_at
  AND flags & $flag_billed_gateway > 0

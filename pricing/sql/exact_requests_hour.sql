-- exact_requests_hour: the requests of an hour that a window cuts: a bucket of it may hold usage from
--                      both sides → exact_request
-- grain:  exact_row; what corrects closed months is there already
-- window: billing instant in [$start_at, $end_at)
INSERT INTO exact_request BY NAME
FROM exact_row
WHERE adjusts_period IS NULL
  AND bucket_at >= $start_at
  AND bucket_at < $end_at

-- node_seconds: seconds that each server spent on prefill and on decode
-- grain:  node_id
-- units:  seconds, summed over requests that ran side by side: ratios within one server only
-- window: hours of the finish in [$start_at, $end_at)
SELECT
    node_id,
    sum(prefill_seconds) AS prefill_seconds,
    sum(decode_seconds)  AS decode_seconds
FROM node_hourly
WHERE hour_start_at >= $start_at AND hour_start_at < $end_at AND disposition = 'work'
GROUP BY node_id
HAVING sum(prefill_seconds + decode_seconds) > 0
ORDER BY ALL

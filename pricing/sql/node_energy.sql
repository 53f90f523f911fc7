-- node_energy: energy of each server by hour
-- grain:  node_id, UTC hour
-- units:  joules; of several meters of one server the largest counts, they measure the same current
-- window: hours that start in [$start_at, $end_at)
SELECT node_id, hour_start_at, max(energy_joules) AS joules
FROM node_sample_hourly
WHERE hour_start_at >= $start_at AND hour_start_at < $end_at AND energy_joules IS NOT NULL
GROUP BY node_id, hour_start_at
ORDER BY ALL

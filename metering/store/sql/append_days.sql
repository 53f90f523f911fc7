-- append_days: verdicts → the days that readable rows touch, each with the rows' own time range
-- grain:   UTC day of the finish
-- units:   times UTC, both ends inclusive
SELECT
    finished_at::DATE AS day,
    min(finished_at)  AS first_at,
    max(finished_at)  AS last_at
FROM verdict
WHERE fault IS NULL
GROUP BY day
ORDER BY day

-- reprice_days: UTC days that hold requests
-- grain: day
SELECT DISTINCT billing_at::DATE AS day
FROM request
WHERE disposition <> 'cost'
ORDER BY day

-- exact_earned_money: what servers earned in a window that any instant may cut → temp view
-- grain:  bucket of node_hourly in whole hours, a request's line in the others
-- units:  tokens; amounts exact, in `currency`
-- exact_hours (registered): the window's whole hours, from_at to until_at
CREATE OR REPLACE TEMP VIEW exact_earned_money AS
SELECT n.*
FROM node_money AS n
JOIN exact_hours AS h ON n.hour_start_at >= h.from_at AND n.hour_start_at < h.until_at
WHERE n.disposition <> 'work'
UNION ALL BY NAME
FROM priced('exact_earned')

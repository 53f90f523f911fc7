-- exact_earned_rollups: what servers earned in whole hours: the roll-up alone → temp view
-- grain:  bucket of node_hourly
-- units:  tokens; amounts exact, in `currency`
CREATE OR REPLACE TEMP VIEW exact_earned_money AS
FROM node_money

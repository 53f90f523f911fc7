-- exact_usage_rollups: usage that only whole hours cut: the roll-ups alone → temp view exact_usage
-- grain:  bucket of usage_hourly
-- units:  tokens; amounts exact, in `currency`; requests with their sign
CREATE OR REPLACE TEMP VIEW exact_usage AS
FROM usage_money

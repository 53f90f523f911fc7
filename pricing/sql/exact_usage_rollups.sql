-- exact_usage_rollups: usage that only whole hours cut: the roll-ups alone → temp view exact_usage
-- grain:  bucket of usage_hourly
-- units:  tokens and requests with their sign, by price_key; not priced: who sums prices the sum
CREATE OR REPLACE TEMP VIEW exact_usage AS
FROM usage_hourly

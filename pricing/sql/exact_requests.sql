-- exact_requests: what corrects closed months, request by request: a roll-up does not say whether it
--                 was late or re-rated → temp table exact_request
-- grain:  exact_row, with settle_seq above $after_seq
CREATE OR REPLACE TEMP TABLE exact_request AS
FROM exact_row
WHERE adjusts_period IS NOT NULL
  AND settle_seq > $after_seq

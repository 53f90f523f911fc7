-- sample_listed: rejected samples, which their senders must hear about
-- grain:   record of a batch, the first $listed_max of each
SELECT
    batch,
    record,
    outcome,
    split_part(fault, '|', 1)              AS field,
    substr(fault, strpos(fault, '|') + 1)  AS reason
FROM judged
WHERE outcome = 'rejected'
QUALIFY row_number() OVER (PARTITION BY batch ORDER BY row) <= $listed_max
ORDER BY row

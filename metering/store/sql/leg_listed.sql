-- leg_listed: what a sender must hear of its batch, record by record
-- grain:   record of a batch, the first $listed_max of each
SELECT
    batch,
    record,
    outcome,
    field,
    reason
FROM findings
QUALIFY row_number() OVER (PARTITION BY batch ORDER BY row) <= $listed_max
ORDER BY row

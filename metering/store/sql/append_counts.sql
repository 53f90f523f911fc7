-- append_counts: outcomes of each batch
-- grain:   batch, outcome
SELECT
    batch,
    outcome,
    count(*) AS records
FROM judged
GROUP BY batch, outcome

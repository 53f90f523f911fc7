-- settle_count_settled: request rows that this batch appends
SELECT count(*)
FROM settled

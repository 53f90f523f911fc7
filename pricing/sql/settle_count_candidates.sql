-- settle_count_candidates: legs that this batch looks at
SELECT count(*)
FROM candidate

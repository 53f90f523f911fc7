-- fold_sum: delta rows of one roll-up → the temporary table `folded`, alike rows added
-- grain:   the roll-up's keys; fold.py puts in the names of rollup_table and its columns
-- units:   as in the roll-up; sums are exact (HUGEINT), and must fit the roll-up's BIGINT again
-- window:  bucket_column in [$start_at, $end_at)
CREATE OR REPLACE TEMP TABLE folded AS
SELECT
    folded_columns,
    sum(COLUMNS(* EXCLUDE (kept_columns))) AS "\0"  -- each under its own name
FROM rollup_table
WHERE bucket_column >= $start_at
  AND bucket_column < $end_at
  AND whole_where
GROUP BY ALL

-- fold_count: rows that fold_sum read
-- grain:   one row
-- window:  bucket_column in [$start_at, $end_at)
SELECT count(*) FROM rollup_table WHERE bucket_column >= $start_at AND bucket_column < $end_at AND whole_where

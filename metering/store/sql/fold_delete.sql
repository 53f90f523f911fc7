-- fold_delete: removes what fold_sum read
-- grain:   row of the roll-up
-- window:  bucket_column in [$start_at, $end_at)
DELETE FROM rollup_table WHERE bucket_column >= $start_at AND bucket_column < $end_at AND whole_where

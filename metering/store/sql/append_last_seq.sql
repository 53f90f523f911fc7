-- append_last_seq: the last ingest_seq of the store, 0 if it is empty
-- why: DuckDB answers max() of a whole column from its statistics
SELECT coalesce(max(ingest_seq), 0) FROM leg

-- what_if_keys: prices of the book that is tried (registered: new_price_key) → temp table what_if_key
-- grain: price_key
-- a copy, because DuckDB 1.5.5 pushes a join's bloom filter through a UNION into an Arrow scan, which
-- does not implement it
CREATE OR REPLACE TEMP TABLE what_if_key AS
SELECT *
FROM new_price_key

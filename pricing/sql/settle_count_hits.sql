-- settle_count_hits: keys that have settled before
SELECT count(*)
FROM hit_key

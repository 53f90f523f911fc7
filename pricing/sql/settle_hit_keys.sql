-- settle_hit_keys: keys of candidates that already have request rows → temp table hit_key
-- grain:  one row per key
-- window: requests that finished within $reach_seconds of the candidates (zone maps keep this flat)
CREATE OR REPLACE TEMP TABLE hit_key AS
SELECT DISTINCT key_hash
FROM request
WHERE finished_at BETWEEN (SELECT min(finished_at) FROM candidate) - to_seconds($reach_seconds)
                      AND (SELECT max(finished_at) FROM candidate) + to_seconds($reach_seconds)
  AND key_hash IN (SELECT key_hash FROM candidate WHERE key_hash IS NOT NULL)

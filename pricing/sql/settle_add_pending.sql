-- settle_add_pending: halves that waited for a key which the new legs name → candidate
-- grain: one row per leg
INSERT INTO candidate
SELECT *
FROM pending
WHERE key_hash IN (SELECT key_hash FROM candidate WHERE key_hash IS NOT NULL)

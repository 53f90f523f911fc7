-- settle_shapes: how many legs of which kind each key has → temp table key_shape
-- grain: key_hash
-- simple keys are settled by settle_outcomes.sql, all others by metering/pairing.py
CREATE OR REPLACE TEMP TABLE key_shape AS
SELECT
    key_hash,
    count(*)                                       AS legs,
    count(*) FILTER (stage = 'prefill')            AS prefills,
    count(*) FILTER (stage = 'decode')             AS decodes,
    max(coalesce(group_size, 1)) > 1
        OR bool_or(stage = 'unified')
        OR count(DISTINCT join_key) > 1            AS is_odd
FROM candidate
WHERE key_hash IS NOT NULL
GROUP BY key_hash
